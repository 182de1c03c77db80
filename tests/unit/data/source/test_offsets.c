/* The index of rows: all offsets can be read, in memory and in a file. */
#include "data/source/offsets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_offsets_are_kept(void **state)
{
    enum { COUNT = 5 << 20 };
    struct offsets offsets = {0};
    (void)state;
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(offsets_add(&offsets, i * 77, NULL), TN_OK);
        if (i == 1000) { assert_false(offsets.is_file); }
    }
    assert_true(offsets.is_file);
    assert_int_equal(offsets.count, COUNT);
    for (uint64_t i = 0; i < COUNT; i += 999) { assert_int_equal(offsets.at[i], i * 77); }
    offsets_free(&offsets);
    assert_null(offsets.at);
}

static void test_a_missing_folder_is_an_error(void **state)
{
    struct offsets offsets = {0};
    struct error error;
    enum tn_status status = TN_OK;
    (void)state;
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    for (uint64_t i = 0; i < 3 << 20 && status == TN_OK; i++) {
        status = offsets_add(&offsets, i, &error);
    }
    assert_int_equal(status, TN_ENOENT);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    offsets_free(&offsets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offsets_are_kept),
        cmocka_unit_test(test_a_missing_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
