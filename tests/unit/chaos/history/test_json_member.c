/* chaos/history/json_member.h: members of any JSON value are read with a default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/history/json_member.h"

static json_t *line;

static int set_up(void **state)
{
    (void)state;
    line = json_loads("{\"kind\": \"step\", \"step\": 7, \"t_ms\": 1.5, \"huge\": 1e300,"
                      " \"most\": 9223372036854775807, \"null\": null}",
                      0, NULL);
    return line == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(line);
    return 0;
}

/* A member of the right type is read; an integer is a number too. */
static void members_are_read(void **state)
{
    (void)state;
    assert_string_equal(json_member_text(line, "kind", ""), "step");
    assert_int_equal(json_member_integer(line, "step", -1), 7);
    assert_int_equal((int)(json_member_number(line, "t_ms", -1) * 2), 3);
    assert_int_equal((int)json_member_number(line, "step", -1), 7);
}

/* A member that is missing or has another type is replaced by the default. */
static void other_members_are_replaced(void **state)
{
    (void)state;
    assert_string_equal(json_member_text(line, "step", "none"), "none");
    assert_null(json_member_text(line, "null", NULL));
    assert_int_equal(json_member_integer(line, "t_ms", -1), -1);
    assert_int_equal(json_member_integer(line, "absent", -1), -1);
    assert_int_equal((int)json_member_number(line, "kind", -1), -1);
    assert_string_equal(json_member_text(NULL, "kind", "none"), "none");
}

/* Numbers so large that sums would be inexact are replaced by the default. */
static void huge_numbers_are_replaced(void **state)
{
    (void)state;
    assert_int_equal((int)json_member_number(line, "huge", -1), -1);
    assert_int_equal(json_member_integer(line, "most", -1), -1);
}

/* A line without a kind, or that is not an object, has another kind. */
static void kind_is_compared(void **state)
{
    (void)state;
    assert_true(line_is(line, "step"));
    assert_false(line_is(line, "ste"));
    assert_false(line_is(json_object_get(line, "null"), "step"));
    assert_false(line_is(NULL, "step"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_read),
        cmocka_unit_test(other_members_are_replaced),
        cmocka_unit_test(huge_numbers_are_replaced),
        cmocka_unit_test(kind_is_compared),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
