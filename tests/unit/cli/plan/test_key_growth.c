/* The number of different keys, continued from a part of the examples. */
#include "cli/plan/key_growth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A table without keys stays empty. */
static void test_no_keys(void **state)
{
    (void)state;
    const struct key_growth none = {.examples = 100};
    assert_int_equal(key_growth_at(&none, 1000), 0);
    assert_int_equal(key_growth_at(&(struct key_growth){0}, 1000), 0);
}

/* The part itself is exact, and no examples have no keys. */
static void test_part_is_exact(void **state)
{
    (void)state;
    const struct key_growth growth = {.examples = 1000, .distinct = {100, 180, 300}};
    assert_int_equal(key_growth_at(&growth, 1000), 300);
    assert_int_equal(key_growth_at(&growth, 0), 0);
    assert_true(key_growth_at(&growth, 500) >= 180);
}

/* Keys of which each example has a new one: as many as examples. */
static void test_new_keys_continue(void **state)
{
    (void)state;
    const struct key_growth growth = {.examples = 1024, .distinct = {256, 512, 1024}};
    assert_int_equal(key_growth_at(&growth, 1 << 20), 1 << 20);
    assert_int_equal(key_growth_at(&growth, 256), 256);
}

/* All keys have been seen. */
static void test_no_more_keys(void **state)
{
    (void)state;
    const struct key_growth growth = {.examples = 1024, .distinct = {90, 100, 100}};
    assert_int_equal(key_growth_at(&growth, UINT64_C(1) << 40), 100);
}

/* Where the growth slows down, it continues to do so: the exponents are 0.8, 0.6, 0.2 and 0. */
static void test_growth_slows_down(void **state)
{
    (void)state;
    const struct key_growth growth = {.examples = 1000, .distinct = {1000, 1741, 2639}};
    assert_in_range(key_growth_at(&growth, 2000), 3030, 3033);
    assert_in_range(key_growth_at(&growth, UINT64_C(1) << 50), 3030, 3033);
}

/* The keys of `examples` whose key is one of `all`, each of which is used equally often. */
static uint64_t equally_often(double all, double examples)
{
    return (uint64_t)(all * (1 - exp(-examples / all)));
}

static void test_keys_that_are_used_equally_often(void **state)
{
    (void)state;
    for (double all = 1e4; all < 2e6; all *= 10) {
        const struct key_growth growth = {
            32768,
            {equally_often(all, 8192), equally_often(all, 16384), equally_often(all, 32768)}};
        assert_in_range(key_growth_at(&growth, 10000000), 0.7 * all, 1.1 * all);
    }
}

/* Frequencies by a power law: the number grows by the same power of the examples. */
static void test_power_law(void **state)
{
    (void)state;
    const struct key_growth growth = {.examples = 4096, .distinct = {1000, 2000, 4000}};
    const struct key_growth slower = {.examples = 4096, .distinct = {1000, 1500, 2250}};
    assert_int_equal(key_growth_at(&growth, 1 << 20), 4000 << 8);
    assert_in_range(key_growth_at(&slower, 1 << 20), 57665, 57666); /* 2250 * 1.5^8 */
}

/* A part whose growth becomes faster by chance does not explode. */
static void test_chance_does_not_explode(void **state)
{
    (void)state;
    const struct key_growth growth = {.examples = 8, .distinct = {4, 4, 8}};
    assert_int_equal(key_growth_at(&growth, 80), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_keys),
        cmocka_unit_test(test_part_is_exact),
        cmocka_unit_test(test_new_keys_continue),
        cmocka_unit_test(test_no_more_keys),
        cmocka_unit_test(test_growth_slows_down),
        cmocka_unit_test(test_chance_does_not_explode),
        cmocka_unit_test(test_keys_that_are_used_equally_often),
        cmocka_unit_test(test_power_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
