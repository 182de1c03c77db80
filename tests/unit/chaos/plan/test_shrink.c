/* chaos/plan/shrink.h: the smallest set of faults that fails is found in few tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/plan/shrink.h"
#include "common/base/random.h"

static struct shrink shrink;
static bool subset[INJECTIONS_MAX];

/* Shrink `count` faults; a round fails when it has all of `guilty`. */
static void shrink_to(uint32_t count, const uint32_t *guilty, uint32_t guilty_count)
{
    shrink_init(&shrink, count);
    while (shrink_next(&shrink, subset)) {
        bool fails = true;
        for (uint32_t i = 0; i < guilty_count; i++) { fails = fails && subset[guilty[i]]; }
        shrink_result(&shrink, fails);
        assert_true(shrink.tries < 10000);
    }
}

static void assert_kept(const uint32_t *guilty, uint32_t count)
{
    assert_int_equal(shrink.kept_count, count);
    for (uint32_t i = 0; i < count; i++) { assert_int_equal(shrink.kept[i], guilty[i]); }
}

/* One fault among a hundred costs about two tries per halving. */
static void one_is_found(void **state)
{
    (void)state;
    for (uint32_t guilty = 0; guilty < 100; guilty++) {
        shrink_to(100, &guilty, 1);
        assert_kept(&guilty, 1);
        assert_true(shrink.tries <= 15);
    }
}

/* Two faults that fail only together are found, wherever they are. */
static void pairs_are_found(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 24; i++) {
        for (uint32_t j = i + 1; j < 24; j++) {
            const uint32_t guilty[] = {i, j};
            shrink_to(24, guilty, 2);
            assert_kept(guilty, 2);
        }
    }
}

/* When a round fails without any fault, no fault is kept, after a single try. */
static void no_fault_is_kept(void **state)
{
    (void)state;
    shrink_to(10, NULL, 0);
    assert_int_equal(shrink.kept_count, 0);
    assert_int_equal(shrink.tries, 1);
}

/* All faults are kept when all are needed, also when there is one or none. */
static void all_are_needed(void **state)
{
    (void)state;
    const uint32_t guilty[] = {0, 1, 2, 3, 4};
    for (uint32_t count = 0; count <= 5; count++) {
        shrink_to(count, guilty, count);
        assert_kept(guilty, count);
    }
}

/* Shrinking ends with any results, and keeps the set that failed last. */
static void any_results_end(void **state)
{
    (void)state;
    static bool failed[INJECTIONS_MAX];
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct random random = {seed};
        shrink_init(&shrink, 30);
        memset(failed, true, sizeof failed);
        while (shrink_next(&shrink, subset)) {
            bool fails = random_below(&random, 5) == 0;
            if (fails) { memcpy(failed, subset, sizeof failed); }
            shrink_result(&shrink, fails);
            assert_true(shrink.tries < 2000);
        }
        assert_memory_equal(subset, failed, 30 * sizeof *subset);
    }
}

/* The kept set is minimal. */
static void result_is_minimal(void **state)
{
    (void)state;
    const uint32_t guilty[] = {3, 4, 11, 17, 39};
    shrink_to(40, guilty, 5);
    assert_kept(guilty, 5);
    assert_false(shrink_next(&shrink, subset));
    for (uint32_t i = 0; i < 40; i++) {
        bool is_guilty = i == 3 || i == 4 || i == 11 || i == 17 || i == 39;
        assert_int_equal(subset[i], is_guilty);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_found),     cmocka_unit_test(pairs_are_found),
        cmocka_unit_test(no_fault_is_kept), cmocka_unit_test(all_are_needed),
        cmocka_unit_test(any_results_end),  cmocka_unit_test(result_is_minimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
