/* Which ps has which rows, for one division and for two. */
#include "common/cluster/row_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/random.h"

enum { PS_MOST = 64, TABLES = 3, KEYS = 500 };

static const struct row_borders equal;

/* Each row is of exactly one part of each division. */
static void each_row_has_one_owner(void **state)
{
    static const struct row_borders moved[] = {
        {.count = 2, .buckets = {1, 4095}},
        {.count = 2, .buckets = {4094, 4095}},
        {.count = 2, .buckets = {700, 2800}},
    };
    (void)state;
    for (uint32_t count = 1; count <= PS_MOST; count++) {
        for (uint64_t key = 0; key < KEYS; key++) {
            const uint32_t table = (uint32_t)key % TABLES;
            const struct row_borders *borders = count == 3 && key > 0 ? &moved[key % 3] : &equal;
            uint32_t owners = 0;
            for (uint32_t ps = 0; ps < count; ps++) {
                const struct row_part part = row_part_of(borders, count, ps);
                owners += row_part_has(&part, table, key);
            }
            assert_int_equal(owners, 1);
        }
    }
}

/* Equal ranges are those of bucket * ps / 4096. Two parts meet if and only if they have a bucket in
 * common. */
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
                    const struct row_part first = row_part_of(&equal, one, a);
                    const struct row_part second = row_part_of(&equal, other, b);
                    assert_int_equal(row_part_meets(&first, &second), meet[a][b]);
                }
            }
        }
    }
}

/* Borders are those between the parts. */
static void borders_are_first_buckets(void **state)
{
    static const struct row_borders borders = {.count = 3, .buckets = {5, 6, 4000}};
    static const uint32_t first[] = {0, 5, 6, 4000, ROW_BUCKETS};
    (void)state;
    for (uint32_t ps = 0; ps < 4; ps++) {
        const struct row_part part = row_part_of(&borders, 4, ps);
        assert_int_equal(part.first, first[ps]);
        assert_int_equal(part.end, first[ps + 1]);
        for (uint32_t other = 0; other < 4; other++) {
            const struct row_part another = row_part_of(&borders, 4, other);
            assert_int_equal(row_part_meets(&part, &another), ps == other);
            assert_int_equal(row_part_equal(&part, &another), ps == other);
        }
    }
}

/* Files continue only those of the same ps of as many with the same rows. */
static void a_moved_border_makes_another_part(void **state)
{
    static const struct row_borders one = {.count = 2, .buckets = {10, 20}};
    static const struct row_borders other = {.count = 2, .buckets = {10, 21}};
    (void)state;
    for (uint32_t ps = 0; ps < 3; ps++) {
        const struct row_part a = row_part_of(&one, 3, ps), b = row_part_of(&other, 3, ps);
        assert_int_equal(row_part_equal(&a, &b), ps == 0);
    }
    assert_false(row_borders_equal(&one, &other));
    assert_false(row_borders_equal(&one, &equal));
    assert_true(row_borders_equal(&one, &one));
}

/* Borders ascend from 1, are below 4096, and fit the number of ps. */
static void wrong_borders_are_refused(void **state)
{
    static const struct row_borders wrong[] = {
        {.count = 2, .buckets = {0, 10}},  {.count = 2, .buckets = {10, 10}},
        {.count = 2, .buckets = {11, 10}}, {.count = 2, .buckets = {10, 4096}},
        {.count = 1, .buckets = {10}},     {.count = 3, .buckets = {10, 11, 12}},
    };
    static const struct row_borders right = {.count = 2, .buckets = {1, 4095}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_non_null(row_borders_fault(&wrong[i], 3));
    }
    assert_null(row_borders_fault(&right, 3));
    assert_null(row_borders_fault(&equal, 3));
    assert_null(row_borders_fault(&equal, 0));
    assert_non_null(row_borders_fault(&right, 0));
}

/* The bucket of a row is the 12 low bits of random number `key` of the stream of its table: nodes
 * and files of other versions rely on it. */
static void a_hash_has_the_buckets_of_its_table(void **state)
{
    (void)state;
    for (uint32_t table = 0; table < TABLES; table++) {
        const struct row_hash hash = row_hash_of(table);
        const struct row_part part = row_part_of(&equal, 3, 1);
        for (uint64_t key = 0; key < KEYS; key++) {
            const uint64_t bits = random_at(0, UINT64_C(0x6275636b00000000) + table, key * key);
            const uint32_t bucket = row_hash_bucket(hash, key * key);
            assert_int_equal(bucket, bits % ROW_BUCKETS);
            assert_int_equal(row_bucket(table, key * key), bucket);
            assert_int_equal(row_part_has_bucket(&part, bucket),
                             row_part_has(&part, table, key * key));
        }
    }
}

static void all_rows_are_of_every_part(void **state)
{
    (void)state;
    const struct row_part all = {.ps_count = 0}, some = row_part_of(&equal, 5, 3);
    assert_true(row_part_has(&all, 1, 77));
    assert_true(row_part_meets(&all, &some) && row_part_meets(&some, &all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_has_one_owner),
        cmocka_unit_test(parts_meet_where_they_share_buckets),
        cmocka_unit_test(borders_are_first_buckets),
        cmocka_unit_test(a_moved_border_makes_another_part),
        cmocka_unit_test(wrong_borders_are_refused),
        cmocka_unit_test(a_hash_has_the_buckets_of_its_table),
        cmocka_unit_test(all_rows_are_of_every_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
