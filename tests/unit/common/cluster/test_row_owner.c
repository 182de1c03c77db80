/* Which ps has which rows, for one number of ps and for two. */
#include "common/cluster/row_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PS_MOST = 64, TABLES = 3, KEYS = 500 };

/* Each row is of exactly one part of each division. */
static void each_row_has_one_owner(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= PS_MOST; count++) {
        for (uint64_t key = 0; key < KEYS; key++) {
            uint32_t owners = 0;
            for (uint32_t ps = 0; ps < count; ps++) {
                const struct row_part part = {.ps = ps, .ps_count = count};
                owners += row_part_has(&part, (uint32_t)key % TABLES, key);
            }
            assert_int_equal(owners, 1);
        }
    }
}

/* Two parts meet if and only if they have a bucket in common, by the definition of the owner. */
static void parts_meet_where_they_share_buckets(void **state)
{
    (void)state;
    for (uint32_t one = 1; one <= PS_MOST; one++) {
        for (uint32_t other = 1; other <= PS_MOST; other += other < 8 ? 1 : 7) {
            static bool meet[PS_MOST][PS_MOST];
            for (uint32_t a = 0; a < one; a++) {
                for (uint32_t b = 0; b < other; b++) { meet[a][b] = false; }
            }
            for (uint32_t bucket = 0; bucket < ROW_BUCKETS; bucket++) {
                meet[bucket * one / ROW_BUCKETS][bucket * other / ROW_BUCKETS] = true;
            }
            for (uint32_t a = 0; a < one; a++) {
                for (uint32_t b = 0; b < other; b++) {
                    const struct row_part first = {.ps = a, .ps_count = one};
                    const struct row_part second = {.ps = b, .ps_count = other};
                    assert_int_equal(row_part_meets(&first, &second), meet[a][b]);
                }
            }
        }
    }
}

static void all_rows_are_of_every_part(void **state)
{
    (void)state;
    const struct row_part all = {.ps_count = 0}, some = {.ps = 3, .ps_count = 5};
    assert_true(row_part_has(&all, 1, 77));
    assert_true(row_part_meets(&all, &some) && row_part_meets(&some, &all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_has_one_owner),
        cmocka_unit_test(parts_meet_where_they_share_buckets),
        cmocka_unit_test(all_rows_are_of_every_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
