/* common/job/job_column_ranges.h: ranges of columns become the columns; other names stay. */
#include "common/job/job_column_ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Also the order of the keys counts, which is that of the inputs. */
static void check(const char *columns, const char *wanted)
{
    json_t *from = json_loads(columns, 0, NULL);
    assert_non_null(from);
    json_t *out = job_column_ranges_expand(from);
    if (wanted == NULL) {
        assert_null(out);
    } else {
        assert_non_null(out);
        char *text = json_dumps(out, JSON_COMPACT);
        assert_string_equal(text, wanted);
        free(text);
    }
    json_decref(out);
    json_decref(from);
}

static void a_range_becomes_its_columns(void **state)
{
    (void)state;
    check("{\"b\": \"number\", \"I9..I11\": \"number\", \"a\": {\"as\": \"bucket\"}}",
          "{\"b\":\"number\",\"I9\":\"number\",\"I10\":\"number\",\"I11\":\"number\","
          "\"a\":{\"as\":\"bucket\"}}");
    check("{\"f08..f10\": \"number\"}",
          "{\"f08\":\"number\",\"f09\":\"number\",\"f10\":\"number\"}");
    check("{\"1..2\": \"number\", \"0..0\": \"number\"}",
          "{\"1\":\"number\",\"2\":\"number\",\"0\":\"number\"}");
}

static void the_value_names_one_of_as_many(void **state)
{
    (void)state;
    check("{\"wide1..wide2\": {\"from\": \"C5..C6\", \"embed\": 1}}",
          "{\"wide1\":{\"from\":\"C5\",\"embed\":1},\"wide2\":{\"from\":\"C6\",\"embed\":1}}");
    check("{\"x1..x2\": {\"of\": [\"C1..C2\", \"C9\", \"C1..C3\"], \"vocabulary\": [\"a1..a2\"]}}",
          "{\"x1\":{\"of\":[\"C1\",\"C9\",\"C1..C3\"],\"vocabulary\":[\"a1..a2\"]},"
          "\"x2\":{\"of\":[\"C2\",\"C9\",\"C1..C3\"],\"vocabulary\":[\"a1..a2\"]}}");
}

static void other_names_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"a..b",  "a1..b2",   "a2..a1",   "a..a2",     "a1..",
                                        "..a1",  "..",       "a1...a2",  "a01..a2",   "a1..a5000",
                                        "a1.a2", "a1..a1b2", "a1..2..3", "a1..a4096x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *columns = json_pack("{s:s}", names[i], "number");
        char *text = json_dumps(columns, JSON_COMPACT);
        check(text, text);
        free(text);
        json_decref(columns);
    }
}

static void a_name_is_given_once(void **state)
{
    (void)state;
    check("{\"C1..C3\": \"number\", \"C2\": \"number\"}", NULL);
    check("{\"C2\": \"number\", \"C1..C3\": \"number\"}", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_becomes_its_columns),
        cmocka_unit_test(the_value_names_one_of_as_many),
        cmocka_unit_test(other_names_stay),
        cmocka_unit_test(a_name_is_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
