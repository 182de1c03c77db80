/* Parts of rows: together all rows, in order, of about the wanted size. */
#include "data/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 10000 };

static void test_parts_are_disjoint_and_complete(void **state)
{
    static uint8_t seen[ROWS];
    const double bounds[] = {0, 0.1, 0.3, 1};
    const uint64_t least[] = {900, 1850, 6800}, most[] = {1100, 2150, 7200};
    (void)state;
    for (int p = 0; p < 3; p++) {
        struct split split;
        uint64_t last = 0;
        assert_int_equal(split_open(&split, ROWS, 7, bounds[p], bounds[p + 1], NULL), TN_OK);
        assert_in_range(split.count, least[p], most[p]);
        for (uint64_t k = 0; k < split.count; k++) {
            const uint64_t row = split_row(&split, k);
            assert_true(row < ROWS && (k == 0 || row > last));
            seen[row]++;
            last = row;
        }
        split_close(&split);
    }
    for (int i = 0; i < ROWS; i++) { assert_int_equal(seen[i], 1); }
}

/* The part of a row does not depend on the rows behind it. */
static void test_more_rows_move_none(void **state)
{
    struct split few, many;
    (void)state;
    assert_int_equal(split_open(&few, 300, 1, 0, 0.5, NULL), TN_OK);
    assert_int_equal(split_open(&many, 999, 1, 0, 0.5, NULL), TN_OK);
    for (uint64_t k = 0; k < few.count; k++) {
        assert_int_equal(split_row(&few, k), split_row(&many, k));
    }
    split_close(&few);
    split_close(&many);
}

static void test_a_whole_part_has_all_rows(void **state)
{
    struct split split;
    (void)state;
    assert_int_equal(split_open(&split, UINT64_C(1) << 48, 1, 0, 1, NULL), TN_OK);
    assert_true(split_row(&split, (UINT64_C(1) << 48) - 1) == (UINT64_C(1) << 48) - 1);
    split_close(&split);
    assert_int_equal(split_open(&split, 100, 1, 0, 0, NULL), TN_OK);
    assert_int_equal(split.count, 0);
    split_close(&split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_disjoint_and_complete),
        cmocka_unit_test(test_more_rows_move_none),
        cmocka_unit_test(test_a_whole_part_has_all_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
