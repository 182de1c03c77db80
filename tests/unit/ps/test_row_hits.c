/* Lookups are counted by buckets of keys, of which the most used ones are found. */
#include "ps/row_hits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* No lookups: no shares. */
static void nothing_was_counted(void **state)
{
    static struct row_hits hits;
    uint64_t hottest = 1, hot = 1;
    (void)state;
    row_hits_most(&hits, &hottest, &hot);
    assert_int_equal(hottest, 0);
    assert_int_equal(hot, 0);
}

/* Whatever their order, the ROW_HITS_MOST highest counts are the ones that are added. */
static void the_most_used_are_found(void **state)
{
    static struct row_hits hits;
    uint64_t hottest = 0, hot = 0;
    (void)state;
    for (uint32_t b = 0; b < ROW_HITS_BUCKETS; b++) {
        hits.buckets[b] = (b * UINT64_C(389)) % ROW_HITS_BUCKETS; /* A permutation. */
    }
    row_hits_most(&hits, &hottest, &hot);
    assert_int_equal(hottest, ROW_HITS_BUCKETS - 1);
    assert_int_equal(hot, ROW_HITS_MOST * (ROW_HITS_BUCKETS - 1) -
                              ROW_HITS_MOST * (ROW_HITS_MOST - 1) / 2);
}

/* One key of many lookups is the hottest bucket; even keys have about the share of their
 * buckets. */
static void a_hot_key_shows(void **state)
{
    static struct row_hits even, skewed;
    uint64_t hottest = 0, hot = 0;
    const uint64_t key = 12345;
    (void)state;
    for (uint64_t k = 0; k < 200000; k++) {
        row_hits_count(&even, &k, 1);
        row_hits_count(&skewed, &k, 1);
        row_hits_count(&skewed, &key, 1);
    }
    assert_int_equal(skewed.lookups, 400000);
    row_hits_most(&skewed, &hottest, &hot);
    assert_in_range(hottest, 200000, 200400);
    assert_in_range(hot, 201000, 205000);
    row_hits_most(&even, &hottest, &hot);
    assert_in_range(hot, 2000, 3000); /* 1 % are 2000. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_was_counted),
        cmocka_unit_test(the_most_used_are_found),
        cmocka_unit_test(a_hot_key_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
