/* Borders by load: the largest load of a ps is the least possible, and equal loads move nothing. */
#include "common/cluster/row_balance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"

static uint64_t loads[ROW_BUCKETS];

static void clear(void)
{
    memset(loads, 0, sizeof loads);
}

static uint64_t largest(const struct row_borders *borders, uint32_t ps_count)
{
    uint64_t most = 0;
    for (uint32_t ps = 0; ps < ps_count; ps++) {
        const struct row_part part = row_part_of(borders, ps_count, ps);
        uint64_t load = 0;
        for (uint32_t b = part.first; b < part.end; b++) { load += loads[b]; }
        most = u64_max(most, load);
    }
    return most;
}

/* Without any load, and with the same of all, each ps has what it has by default. */
static void equal_loads_move_nothing(void **state)
{
    (void)state;
    for (uint64_t load = 0; load < 3; load++) {
        for (uint32_t b = 0; b < ROW_BUCKETS; b++) { loads[b] = load; }
        for (uint32_t ps = 1; ps <= PS_MAX; ps++) {
            const struct row_borders borders = row_balance(loads, ps);
            assert_int_equal(borders.count, 0);
        }
    }
    static const struct row_borders equal;
    assert_true(row_imbalance(loads, &equal, 4) == 1);
    clear();
    assert_true(isnan(row_imbalance(loads, &equal, 4)));
}

/* The least largest load of `ps_count` ranges of the first `end` buckets, by trying all borders. */
static uint64_t best(uint32_t end, uint32_t ps_count)
{
    uint64_t least = UINT64_MAX, load = 0;
    if (ps_count == 1) {
        for (uint32_t b = 0; b < end; b++) { load += loads[b]; }
        return load;
    }
    for (uint32_t first = end - 1; first + 1 >= ps_count; first--) {
        load += loads[first];
        least = u64_min(least, u64_max(load, best(first, ps_count - 1)));
    }
    return least;
}

/* No borders give a smaller largest load: compared with all that differ within 12 buckets. */
static void no_borders_are_better(void **state)
{
    enum { LOADED = 12, ROUNDS = 300, PS_MOST = 4 };
    struct random random = {.state = 3};
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        clear();
        for (uint32_t b = 0; b < LOADED; b++) {
            loads[b] = random_below(&random, 4) == 0 ? 1000 : random_below(&random, 50);
        }
        loads[0]++; /* Not all are equal. */
        for (uint32_t ps = 1; ps <= PS_MOST; ps++) {
            const struct row_borders borders = row_balance(loads, ps);
            assert_null(row_borders_fault(&borders, ps));
            /* A range of empty buckets behind them is also one. */
            assert_int_equal(largest(&borders, ps), best(LOADED + PS_MOST, ps));
        }
    }
}

/* Few hot buckets among many: each ps has at most the mean and the hottest bucket. */
static void hot_buckets_are_spread(void **state)
{
    struct random random = {.state = 4};
    static const struct row_borders equal;
    (void)state;
    for (uint32_t ps = 2; ps <= PS_MAX; ps *= 2) {
        uint64_t total = 0, hottest = 0;
        for (uint32_t b = 0; b < ROW_BUCKETS; b++) {
            const uint64_t rank = 1 + random_below(&random, b < 300 ? 20 : ROW_BUCKETS);
            loads[b] = 1000000 / rank;
            total += loads[b];
            hottest = u64_max(hottest, loads[b]);
        }
        const struct row_borders borders = row_balance(loads, ps);
        assert_int_equal(borders.count, ps - 1);
        assert_true(largest(&borders, ps) <= total / ps + hottest);
        assert_true(row_imbalance(loads, &borders, ps) < row_imbalance(loads, &equal, ps));
    }
}

/* One bucket has everything: its ps has it alone or not, and each ps has a bucket. */
static void one_hot_bucket_leaves_each_ps_a_bucket(void **state)
{
    static const uint32_t places[] = {0, 1, 2047, 4094, 4095};
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        clear();
        loads[places[i]] = ROW_LOADS_MAX / 2;
        for (uint32_t ps = 1; ps <= PS_MAX; ps++) {
            const struct row_borders borders = row_balance(loads, ps);
            assert_null(row_borders_fault(&borders, ps));
            assert_true(row_imbalance(loads, &borders, ps) == ps);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_loads_move_nothing),
        cmocka_unit_test(no_borders_are_better),
        cmocka_unit_test(hot_buckets_are_spread),
        cmocka_unit_test(one_hot_bucket_leaves_each_ps_a_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
