/* cli/model/saved_rows_diff.h: rows of two checkpoints, by key. */
#include "cli/model/saved_rows_diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { WIDTH = 2 };

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* Rows are matched by their keys; only those in both are compared. */
static void rows_are_matched_by_key(void **state)
{
    (void)state;
    static const int64_t keys[] = {2, 5, 9}, later_keys[] = {1, 5, 9, INT64_MAX};
    static const float values[] = {7, 7, 3, 4, 0, 0}, later[] = {8, 8, 3, 6, 0, 0, 9, 9};
    const struct rows_view first = {keys, values, 3}, second = {later_keys, later, 4};
    const struct rows_diff diff = rows_diff_of(&first, &second, WIDTH);
    assert_int_equal(diff.added, 2);
    assert_int_equal(diff.removed, 1);
    assert_int_equal(diff.changed, 1);
    assert_true(near(diff.most, 2));
    assert_true(near(diff.mean, 0.5));
    assert_true(near(diff.relative, 0.4));
}

static void equal_and_empty_tables_have_no_difference(void **state)
{
    (void)state;
    static const int64_t keys[] = {1};
    static const float values[] = {NAN, 1};
    const struct rows_view one = {keys, values, 1}, none = {.count = 0};
    struct rows_diff diff = rows_diff_of(&one, &one, WIDTH);
    assert_int_equal(diff.added + diff.removed + diff.changed, 0);
    assert_true(diff.most == 0 && diff.mean == 0 && diff.relative == 0);
    diff = rows_diff_of(&one, &none, WIDTH);
    assert_int_equal(diff.removed, 1);
    assert_true(diff.mean == 0);
    diff = rows_diff_of(&none, &one, WIDTH);
    assert_int_equal(diff.added, 1);
}

/* A NaN is reported, and -0 is another value than 0. */
static void bits_are_compared(void **state)
{
    (void)state;
    static const int64_t keys[] = {1, 2};
    static const float values[] = {0, 1, 2, 3}, zero[] = {-0.0F, 1, 2, 3}, nan[] = {NAN, 1, 2, 9};
    const struct rows_view first = {keys, values, 2};
    const struct rows_view signs = {keys, zero, 2}, nans = {keys, nan, 2};
    struct rows_diff diff = rows_diff_of(&first, &signs, WIDTH);
    assert_int_equal(diff.changed, 1);
    assert_true(diff.most == 0);
    diff = rows_diff_of(&first, &nans, WIDTH);
    assert_int_equal(diff.changed, 2);
    assert_true(isnan(diff.most));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_matched_by_key),
        cmocka_unit_test(equal_and_empty_tables_have_no_difference),
        cmocka_unit_test(bits_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
