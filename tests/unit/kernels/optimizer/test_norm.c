/* The norm of a gradient: its value, and equal bits for all divisions into parts. */
#include "kernels/optimizer/norm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"

enum { COUNT = 100003 };

static float gradient[COUNT];

static int fill(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUNT; i++) { gradient[i] = random_unit_at(3, 1, i) - 0.5F; }
    return 0;
}

static double norm_of_first(uint64_t count)
{
    struct norm_part part = norm_begin(0);
    norm_add(&part, count, gradient);
    return norm_of(&part);
}

/* The norm of few elements is exact, that of many is near a sum in order. */
static void value_is_right(void **state)
{
    (void)state;
    const float two[] = {3, -4};
    struct norm_part part = norm_begin(0);
    assert_true(norm_of(&part) == 0);
    norm_add(&part, 2, two);
    assert_true(norm_of(&part) == 5);
    for (uint64_t count = 1; count < COUNT; count = count * 3 + 1) {
        long double sum = 0;
        for (uint64_t i = 0; i < count; i++) {
            sum += (long double)gradient[i] * (long double)gradient[i];
        }
        double expected = (double)sqrtl(sum);
        assert_true(fabs(norm_of_first(count) - expected) <= 1e-15 * expected);
    }
}

/* The sums are those of the tree in the header, computed from its definition. */
static double node(uint64_t level, uint64_t index)
{
    if (level > 0) { return node(level - 1, 2 * index) + node(level - 1, 2 * index + 1); }
    double sum = 0;
    for (uint64_t i = 16 * index; i < 16 * (index + 1); i++) {
        sum += (double)gradient[i] * (double)gradient[i];
    }
    return sum;
}

static void sums_follow_the_tree(void **state)
{
    (void)state;
    for (uint64_t leaves = 1; leaves < 1000; leaves++) {
        double sum = 0;
        for (uint64_t level = 0; level < 10; level++) { /* The last maximal node is the smallest. */
            uint64_t before = leaves >> (level + 1) << 1;
            if ((leaves >> level & 1) != 0) { sum += node(level, before); }
        }
        assert_true(norm_of_first(16 * leaves) == sqrt(sum));
    }
}

/* Any division into parts, each fed in pieces of any size, has the bits of the whole. */
static void cuts_do_not_matter(void **state)
{
    (void)state;
    double whole = norm_of_first(COUNT);
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct norm_part all = norm_begin(0);
        uint64_t at = 0, draw = 0;
        while (at < COUNT) {
            struct norm_part part = norm_begin(at);
            uint64_t pieces = 1 + random_at(seed, 2, draw++) % 5;
            for (uint64_t p = 0; p < pieces && at < COUNT; p++) {
                uint64_t leaves = 1 + random_at(seed, 2, draw++) % (1 + seed * 10);
                uint64_t count = u64_min(COUNT - at, 16 * leaves);
                norm_add(&part, count, gradient + at);
                at += count;
            }
            norm_append(&all, &part);
        }
        double cut = norm_of(&all);
        assert_memory_equal(&cut, &whole, sizeof cut);
    }
}

/* The maximal nodes of a range are those that adding its elements leaves. */
static void nodes_follow_from_the_range(void **state)
{
    (void)state;
    for (uint64_t draw = 0; draw < 2000; draw++) {
        uint64_t first = random_at(4, 1, draw) % (COUNT / 16) * 16;
        uint64_t count = 1 + random_at(4, 2, draw) % (COUNT - first);
        struct norm_part part = norm_begin(first), nodes = norm_nodes(first, count);
        norm_add(&part, count, gradient + first);
        assert_int_equal(nodes.first, part.first);
        assert_int_equal(nodes.end, part.end);
        assert_int_equal(nodes.count, part.count);
        for (uint32_t i = 0; i < part.count; i++) {
            assert_int_equal(nodes.nodes[i].level, part.nodes[i].level);
            assert_int_equal(nodes.nodes[i].index, part.nodes[i].index);
        }
    }
}

/* Infinities and NaNs reach the norm. */
static void special_values_stay(void **state)
{
    (void)state;
    const float infinite[] = {1, -INFINITY}, wrong[] = {1, NAN};
    struct norm_part part = norm_begin(0);
    norm_add(&part, 2, infinite);
    assert_true(isinf(norm_of(&part)));
    part = norm_begin(0);
    norm_add(&part, 2, wrong);
    assert_true(isnan(norm_of(&part)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_is_right),      cmocka_unit_test(sums_follow_the_tree),
        cmocka_unit_test(cuts_do_not_matter),  cmocka_unit_test(nodes_follow_from_the_range),
        cmocka_unit_test(special_values_stay),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
