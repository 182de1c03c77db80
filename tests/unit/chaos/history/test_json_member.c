/* chaos/history/json_member.h: lines of a history are read as what they should be, and believed no
 * further. */
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

/* What is there is told; a number that is whole is a number. */
static void members_are_read(void **state)
{
    (void)state;
    assert_string_equal(json_member_text(line, "kind", ""), "step");
    assert_int_equal(json_member_integer(line, "step", -1), 7);
    assert_int_equal((int)(json_member_number(line, "t_ms", -1) * 2), 3);
    assert_int_equal((int)json_member_number(line, "step", -1), 7);
}

/* What is not there, or is something else, is what the reader says. */
static void others_are_not(void **state)
{
    (void)state;
    assert_string_equal(json_member_text(line, "step", "none"), "none");
    assert_null(json_member_text(line, "null", NULL));
    assert_int_equal(json_member_integer(line, "t_ms", -1), -1);
    assert_int_equal(json_member_integer(line, "absent", -1), -1);
    assert_int_equal((int)json_member_number(line, "kind", -1), -1);
    assert_string_equal(json_member_text(NULL, "kind", "none"), "none");
}

/* Numbers with which no sum would be exact are none. */
static void absurd_numbers_are_none(void **state)
{
    (void)state;
    assert_int_equal((int)json_member_number(line, "huge", -1), -1);
    assert_int_equal(json_member_integer(line, "most", -1), -1);
}

/* A line without a kind, or that is no object, is of no kind. */
static void kind_is_that_of_the_line(void **state)
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
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(absurd_numbers_are_none),
        cmocka_unit_test(kind_is_that_of_the_line),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
