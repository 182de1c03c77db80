/* Different keys, counted while more are added. */
#include "model/distinct_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kernels/sparse/rows.h"

static void add(const struct distinct_keys *keys, uint32_t table, uint64_t key)
{
    const struct row_sink *sink = distinct_keys_sink(keys);
    assert_int_equal(sink->add(sink->ctx, table, &key, 1, NULL), TN_OK);
}

/* Repeated keys count once, each table for itself, and a place without a key does not count. */
static void test_counts_different_keys(void **state)
{
    (void)state;
    struct distinct_keys *keys = distinct_keys_open(2);
    assert_non_null(keys);
    assert_int_equal(distinct_keys_count(keys, 0), 0);
    for (uint64_t i = 0; i < 100000; i++) {
        add(keys, 0, i * 7919 % 5003);
        add(keys, 1, SPARSE_KEY_NONE);
    }
    assert_int_equal(distinct_keys_count(keys, 0), 5003);
    assert_int_equal(distinct_keys_count(keys, 1), 0);
    for (uint64_t i = 0; i < 6000; i++) { add(keys, 0, i); }
    assert_int_equal(distinct_keys_count(keys, 0), 6000);
    assert_int_equal(distinct_keys_count(keys, 0), 6000);
    distinct_keys_close(keys);
    distinct_keys_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts_different_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
