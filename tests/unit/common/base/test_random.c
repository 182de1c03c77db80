#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/random.h"

/* The sequential generator is SplitMix64; these are the values of Vigna's reference for seed
 * 1234567. */
static void sequence_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    struct random random = {.state = 1234567};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_true(random_next(&random) == expected[i]);
    }
}

/* If these values change, old runs cannot be repeated from their seeds. */
static void values_never_change(void **state)
{
    (void)state;
    assert_true(random_at(0, 0, 0) == UINT64_C(6235967106033911276));
    assert_true(random_at(42, 7, 1000000) == UINT64_C(12449738502509638734));
    assert_true(random_at(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_C(13789142548563044188));
}

/* Exchanging seed, stream and index gives other values. */
static void seed_stream_and_index_differ(void **state)
{
    (void)state;
    uint64_t values[8];
    for (unsigned i = 0; i < 8; i++) { values[i] = random_at(i & 1, i >> 1 & 1, i >> 2 & 1); }
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned j = 0; j < i; j++) { assert_true(values[i] != values[j]); }
    }
}

/* Units are uniform in [0, 1): the mean of many is one half. */
static void units_are_uniform(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    double sum = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        float unit = random_unit_at(3, 5, i);
        assert_true(unit >= 0.0f && unit < 1.0f);
        sum += (double)unit;
    }
    double mean = sum / COUNT;
    assert_true(mean > 0.495 && mean < 0.505);
}

/* random_below() returns every value below its limit, and no other. */
static void below_covers_its_range(void **state)
{
    (void)state;
    unsigned seen[7] = {0};
    struct random random = {.state = 9};
    for (unsigned i = 0; i < 7000; i++) {
        uint64_t value = random_below(&random, 7);
        assert_true(value < 7);
        seen[value]++;
    }
    for (unsigned i = 0; i < 7; i++) { assert_in_range(seen[i], 850, 1150); }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_is_splitmix64),       cmocka_unit_test(values_never_change),
        cmocka_unit_test(seed_stream_and_index_differ), cmocka_unit_test(units_are_uniform),
        cmocka_unit_test(below_covers_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
