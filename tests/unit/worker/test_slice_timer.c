/* The measured time of a slice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "worker/slice_timer.h"

enum { MS = 1000 * 1000 };

/* `windows` windows in which a slice takes `ns`. */
static void windows_of(struct slice_timer *timer, uint32_t windows, uint64_t ns)
{
    for (uint64_t passed = 0; passed < (uint64_t)windows * SLICE_TIMER_WINDOW_NS; passed += ns) {
        slice_timer_add(timer, 1, ns);
    }
}

/* Nothing is known before the first window is over; the first call does not count. */
static void a_time_is_known_after_a_window(void **state)
{
    (void)state;
    struct slice_timer timer = {0};
    slice_timer_add(&timer, 8, 9000 * (uint64_t)MS);
    assert_int_equal(timer.reported_ns, 0);
    assert_int_equal(slice_timer_ns(&timer), 0);
    slice_timer_add(&timer, 2, SLICE_TIMER_WINDOW_NS / 2);
    assert_int_equal(timer.reported_ns, 0);
    assert_int_equal(slice_timer_ns(&timer), SLICE_TIMER_WINDOW_NS / 4); /* Not reported yet. */
    slice_timer_add(&timer, 6, SLICE_TIMER_WINDOW_NS / 2);
    assert_int_equal(timer.reported_ns, SLICE_TIMER_WINDOW_NS / 8);
    assert_int_equal(slice_timer_ns(&timer), SLICE_TIMER_WINDOW_NS / 8);
}

/* A host that becomes ten times as slow is known as such after a while. */
static void a_slow_host_is_noticed(void **state)
{
    (void)state;
    struct slice_timer timer = {0};
    windows_of(&timer, 3, 2 * MS);
    assert_in_range(timer.reported_ns, 2 * MS, 2 * MS + MS / 8);
    windows_of(&timer, 40, 20 * MS);
    assert_in_range(timer.reported_ns, 18 * MS, 20 * MS);
    windows_of(&timer, 60, 2 * MS);
    assert_in_range(timer.reported_ns, 2 * MS, 2 * MS + MS / 4);
}

/* Few short computations are measured, and they stand for all of them. */
static void short_computations_are_sampled(void **state)
{
    (void)state;
    enum { COMPUTATIONS = 1000 * SLICE_TIMER_SAMPLE, NS = SLICE_TIMER_SHORT_NS / 2 };
    struct slice_timer timer = {0};
    uint32_t measured = 0;
    for (uint32_t i = 0; i < COMPUTATIONS; i++) {
        if (!slice_timer_measures(&timer)) { continue; }
        slice_timer_add(&timer, 2, NS);
        measured++;
    }
    assert_in_range(measured, 1000, 1002); /* The first two, and one of each sixteen. */
    assert_int_equal(timer.reported_ns, NS / 2);
    while (!slice_timer_measures(&timer)) {}
    slice_timer_add(&timer, 2, SLICE_TIMER_SHORT_NS);
    assert_true(slice_timer_measures(&timer)); /* They are short no longer. */
    slice_timer_add(&timer, 2, SLICE_TIMER_SHORT_NS);
    assert_true(slice_timer_measures(&timer));
}

/* A process that was stopped for a minute is not a slow host. */
static void one_long_pause_counts_little(void **state)
{
    (void)state;
    struct slice_timer timer = {0};
    windows_of(&timer, 3, 2 * MS);
    slice_timer_add(&timer, 1, 60000 * (uint64_t)MS);
    assert_in_range(timer.reported_ns, 2 * MS, 2 * MS + MS / 2 + MS / 8);
}

/* Noise of a twentieth does not change the reported time. */
static void noise_is_not_reported(void **state)
{
    (void)state;
    struct slice_timer timer = {0};
    struct random random = {.state = 3};
    windows_of(&timer, 10, 2 * MS);
    const uint64_t reported_ns = timer.reported_ns;
    for (uint32_t i = 0; i < 20000; i++) {
        slice_timer_add(&timer, 1, 2 * MS - MS / 20 + random_below(&random, MS / 10));
        assert_int_equal(timer.reported_ns, reported_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_known_after_a_window),
        cmocka_unit_test(a_slow_host_is_noticed),
        cmocka_unit_test(short_computations_are_sampled),
        cmocka_unit_test(one_long_pause_counts_little),
        cmocka_unit_test(noise_is_not_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
