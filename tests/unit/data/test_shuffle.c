/* Permutations of any size, and batches as pure functions of the step. */
#include "data/shuffle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_permutation(uint64_t seed, uint64_t epoch, uint32_t count)
{
    struct shuffle shuffle;
    uint8_t *seen = calloc(count, 1);
    assert_non_null(seen);
    shuffle_init(&shuffle, seed, epoch, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t to = shuffle_at(&shuffle, i);
        assert_true(to < count);
        assert_int_equal(seen[to]++, 0);
    }
    free(seen);
}

/* Each index appears once, for every small size and some large ones. */
static void test_every_size_is_permuted(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 300; count++) { check_permutation(1, count, count); }
    check_permutation(2, 0, 60000);
    check_permutation(2, UINT64_MAX, 65537);
}

/* The largest size works. */
static void test_largest_size_works(void **state)
{
    (void)state;
    struct shuffle shuffle;
    shuffle_init(&shuffle, 1, 1, UINT32_MAX);
    assert_int_not_equal(shuffle_at(&shuffle, 0), shuffle_at(&shuffle, UINT32_MAX - 1));
}

/* Orders of other seeds and epochs differ: about one example stays in place. */
static void test_epochs_and_seeds_differ(void **state)
{
    (void)state;
    struct shuffle a, b, c;
    uint32_t same_b = 0, same_c = 0, fixed = 0;
    shuffle_init(&a, 1, 0, 60000);
    shuffle_init(&b, 1, 1, 60000);
    shuffle_init(&c, 2, 0, 60000);
    for (uint32_t i = 0; i < 60000; i++) {
        same_b += shuffle_at(&a, i) == shuffle_at(&b, i);
        same_c += shuffle_at(&a, i) == shuffle_at(&c, i);
        fixed += shuffle_at(&a, i) == i;
    }
    assert_true(same_b < 10 && same_c < 10 && fixed < 10);
}

/* Batches draw evenly: in 60 batches of 1000 the counts of ten equal parts have the chi-square of a
 * fair draw without replacement. */
static void test_batches_are_mixed(void **state)
{
    (void)state;
    struct shuffle shuffle;
    double total = 0;
    shuffle_init(&shuffle, 9, 4, 60000);
    for (uint32_t b = 0; b < 60; b++) {
        double counts[10] = {0};
        for (uint32_t i = 0; i < 1000; i++) { counts[shuffle_at(&shuffle, b * 1000 + i) / 6000]++; }
        for (int part = 0; part < 10; part++) {
            total += (counts[part] - 100) * (counts[part] - 100) / 100;
        }
    }
    assert_true(total > 400 && total < 680); /* Expected 540, standard deviation 32. */
}

/* The mean distance of successive examples is a third of their number. */
static void test_neighbours_are_scattered(void **state)
{
    (void)state;
    struct shuffle shuffle;
    double sum = 0;
    shuffle_init(&shuffle, 3, 0, 60000);
    for (uint32_t i = 1; i < 60000; i++) {
        const int64_t step =
            (int64_t)shuffle_at(&shuffle, i) - (int64_t)shuffle_at(&shuffle, i - 1);
        sum += (double)(step < 0 ? -step : step);
    }
    assert_true(sum / 59999 > 19500 && sum / 59999 < 20500);
}

/* A batch gathered in parts equals the batch gathered at once, also across the end of an epoch. */
static void test_batches_do_not_depend_on_slices(void **state)
{
    (void)state;
    uint64_t whole[64], part[64];
    for (uint64_t step = 0; step < 40; step++) {
        shuffle_batch(&(struct shuffle_order){.seed = 5, .examples = 100}, 64, step, 0, 64, whole);
        shuffle_batch(&(struct shuffle_order){.seed = 5, .examples = 100}, 64, step, 0, 11, part);
        shuffle_batch(&(struct shuffle_order){.seed = 5, .examples = 100}, 64, step, 11, 53,
                      part + 11);
        assert_memory_equal(part, whole, sizeof whole);
    }
}

/* Successive batches contain each example once per epoch. */
static void test_epochs_are_complete(void **state)
{
    (void)state;
    uint64_t indices[250], seen[100] = {0};
    for (uint64_t step = 0; step < 2; step++) {
        shuffle_batch(&(struct shuffle_order){.seed = 5, .examples = 100}, 250, step, 0, 250,
                      indices);
        for (int i = 0; i < 250; i++) { seen[indices[i]]++; }
    }
    for (int i = 0; i < 100; i++) { assert_int_equal(seen[i], 5); }
}

/* The order must not change, because old runs could not be resumed. */
static void test_order_is_fixed(void **state)
{
    (void)state;
    uint64_t indices[4];
    shuffle_batch(&(struct shuffle_order){.seed = 1, .examples = 60000}, 256, 1000, 0, 4, indices);
    const uint64_t expected[4] = {0x3650, 0x35f8, 0xd3d5, 0x99e2};
    assert_memory_equal(indices, expected, sizeof expected);
}

/* Every order is a permutation of the examples, however block and window divide them. */
static void test_all_orders_are_permutations(void **state)
{
    enum { MOST = 700 };
    uint64_t indices[MOST];
    (void)state;
    for (uint32_t examples = 1; examples <= MOST; examples += 1 + examples / 9) {
        for (uint32_t block = 1; block <= 64; block = 2 * block + 1) {
            for (uint32_t window = 1; window <= 8; window++) {
                uint8_t seen[MOST] = {0};
                const struct shuffle_order order = {
                    3, examples, {.order = ORDER_BLOCKS, .block = block, .window = window}};
                shuffle_batch(&order, examples, 5, 0, examples, indices);
                for (uint32_t i = 0; i < examples; i++) {
                    assert_true(indices[i] < examples && seen[indices[i]]++ == 0);
                }
            }
        }
    }
}

/* Within a window, no block is read that is not one of its blocks. */
static void test_windows_have_whole_blocks(void **state)
{
    enum { BLOCK = 16, WINDOW = 4, EXAMPLES = 1024 };
    uint64_t indices[EXAMPLES], others = 0;
    const struct shuffle_order order = {
        1, EXAMPLES, {.order = ORDER_BLOCKS, .block = BLOCK, .window = WINDOW}};
    (void)state;
    shuffle_batch(&order, EXAMPLES, 0, 0, EXAMPLES, indices);
    for (int w = 0; w < EXAMPLES / (BLOCK * WINDOW); w++) {
        uint8_t blocks[EXAMPLES / BLOCK] = {0};
        int count = 0;
        for (int i = 0; i < BLOCK * WINDOW; i++) {
            const uint64_t example = indices[w * BLOCK * WINDOW + i];
            count += blocks[example / BLOCK]++ == 0;
            others += i > 0 && example != indices[w * BLOCK * WINDOW + i - 1] + 1;
        }
        assert_int_equal(count, WINDOW);
    }
    assert_true(others > EXAMPLES / 2); /* Not in the order of the data. */
}

static void test_no_order_is_that_of_the_data(void **state)
{
    uint64_t indices[25];
    const struct shuffle_order order = {1, 10, {.order = ORDER_NONE}};
    (void)state;
    shuffle_batch(&order, 25, 1, 0, 25, indices);
    for (uint64_t i = 0; i < 25; i++) { assert_int_equal(indices[i], (25 + i) % 10); }
}

/* Over 2^32 examples. */
static void test_large_permutations(void **state)
{
    struct shuffle shuffle;
    uint64_t high = 0;
    (void)state;
    shuffle_init(&shuffle, 1, 0, SHUFFLE_MAX - 5);
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t a = shuffle_at(&shuffle, i), b = shuffle_at(&shuffle, SHUFFLE_MAX - 6 - i);
        assert_true(a < SHUFFLE_MAX - 5 && b < SHUFFLE_MAX - 5 && a != b);
        high += a > SHUFFLE_MAX / 2;
    }
    assert_in_range(high, 400, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size_is_permuted),
        cmocka_unit_test(test_largest_size_works),
        cmocka_unit_test(test_epochs_and_seeds_differ),
        cmocka_unit_test(test_batches_are_mixed),
        cmocka_unit_test(test_neighbours_are_scattered),
        cmocka_unit_test(test_batches_do_not_depend_on_slices),
        cmocka_unit_test(test_epochs_are_complete),
        cmocka_unit_test(test_order_is_fixed),
        cmocka_unit_test(test_all_orders_are_permutations),
        cmocka_unit_test(test_windows_have_whole_blocks),
        cmocka_unit_test(test_no_order_is_that_of_the_data),
        cmocka_unit_test(test_large_permutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
