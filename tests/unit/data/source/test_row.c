/* Rows: memory stays valid until the row is cleared, whatever its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/source/source.h"

static void test_memory_is_kept_until_the_row_is_cleared(void **state)
{
    struct source_row row;
    uint8_t *parts[100];
    (void)state;
    assert_int_equal(source_row_open(&row, 3, NULL), TN_OK);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 100; i++) {
            parts[i] = source_row_take(&row, i * 97);
            assert_non_null(parts[i]);
            assert_int_equal((uintptr_t)parts[i] % _Alignof(max_align_t), 0);
            memset(parts[i], (int)i, i * 97);
        }
        for (size_t i = 1; i < 100; i++) {
            assert_int_equal(parts[i][0], i);
            assert_int_equal(parts[i][i * 97 - 1], i);
        }
        row.cells[2].missing = true;
        source_row_clear(&row);
        assert_false(row.cells[2].missing);
    }
    source_row_close(&row);
}

static void test_more_than_memory_is_refused(void **state)
{
    struct source_row row;
    (void)state;
    assert_int_equal(source_row_open(&row, 1, NULL), TN_OK);
    assert_null(source_row_take(&row, SIZE_MAX));
    assert_non_null(source_row_take(&row, 1));
    source_row_close(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_kept_until_the_row_is_cleared),
        cmocka_unit_test(test_more_than_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
