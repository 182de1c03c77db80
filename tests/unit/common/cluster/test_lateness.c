/* When the slices of a step are late, by the steps before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cluster/lateness.h"

enum { V = 8 };

static struct lateness it;
static uint64_t now_ms;

static int setup(void **state)
{
    (void)state;
    it = (struct lateness){0};
    now_ms = 1000;
    return 0;
}

/* Half of the slices arrive after `half_ms`, and the others `rest_ms` later. */
static void step(uint64_t half_ms, uint64_t rest_ms)
{
    lateness_begin(&it, now_ms);
    now_ms += half_ms;
    lateness_arrived(&it, V / 2, V, now_ms);
    now_ms += rest_ms;
    lateness_arrived(&it, V, V, now_ms);
}

static void steps(uint32_t count, uint64_t half_ms, uint64_t rest_ms)
{
    for (uint32_t i = 0; i < count; i++) { step(half_ms, rest_ms); }
}

/* Before a step was measured no slice is late. */
static void nothing_is_late_at_first(void **state)
{
    (void)state;
    lateness_arrived(&it, 1, V, now_ms);
    assert_int_equal(lateness_due_ms(&it, now_ms), UINT64_MAX);
    assert_int_equal(lateness_periods(&it, now_ms + 60000), 0);
    lateness_begin(&it, now_ms);
    assert_int_equal(lateness_due_ms(&it, now_ms), UINT64_MAX);
    now_ms += 5;
    lateness_arrived(&it, 1, V, now_ms);
    assert_int_equal(lateness_due_ms(&it, now_ms), UINT64_MAX);
}

/* Short steps: a busy host may delay a process by some time. */
static void short_steps_have_a_least_limit(void **state)
{
    (void)state;
    steps(20, 3, 1);
    lateness_begin(&it, now_ms);
    assert_int_equal(lateness_due_ms(&it, now_ms), UINT64_MAX);
    now_ms += 7;
    lateness_arrived(&it, 1, V, now_ms);
    assert_int_equal(lateness_due_ms(&it, now_ms), now_ms + LATENESS_LEAST_MS);
    assert_int_equal(lateness_periods(&it, now_ms + LATENESS_LEAST_MS - 1), 0);
    assert_int_equal(lateness_periods(&it, now_ms + LATENESS_LEAST_MS), 1);
    assert_int_equal(lateness_periods(&it, now_ms + 5 * LATENESS_LEAST_MS), 5);
}

/* Long steps: the limit is a multiple of the time until half of the slices have arrived. */
static void long_steps_have_a_longer_limit(void **state)
{
    (void)state;
    steps(50, 299, 100);
    lateness_begin(&it, now_ms);
    lateness_arrived(&it, 1, V, now_ms);
    assert_int_equal(lateness_limit_ms(&it), 300 * LATENESS_FACTOR);
    assert_int_equal(lateness_due_ms(&it, now_ms), now_ms + 300 * LATENESS_FACTOR);
}

/* The time that the slowest worker needs does not raise the limit. */
static void slow_half_does_not_count(void **state)
{
    (void)state;
    steps(50, 99, 60000);
    assert_int_equal(lateness_limit_ms(&it), 100 * LATENESS_FACTOR);
}

/* One step that was disturbed changes the limit little; a lasting change counts. */
static void one_long_step_counts_little(void **state)
{
    (void)state;
    steps(50, 99, 0);
    step(100000, 0);
    assert_in_range(lateness_limit_ms(&it), 100 * LATENESS_FACTOR, 113 * LATENESS_FACTOR);
    steps(100, 999, 0);
    assert_in_range(lateness_limit_ms(&it), 990 * LATENESS_FACTOR, 1000 * LATENESS_FACTOR);
}

/* After a stop nothing is late until another step begins; the average stays. */
static void stop_ends_the_step(void **state)
{
    (void)state;
    steps(50, 99, 0);
    lateness_begin(&it, now_ms);
    lateness_arrived(&it, 1, V, now_ms);
    lateness_stop(&it);
    lateness_arrived(&it, 2, V, now_ms);
    assert_int_equal(lateness_due_ms(&it, now_ms), UINT64_MAX);
    assert_int_equal(lateness_limit_ms(&it), 100 * LATENESS_FACTOR);
}

/* Without ps a worker awaits the others once it has computed its own slices: the first gradient of
 * another one may never arrive. */
static void silence_is_late(void **state)
{
    (void)state;
    steps(50, 1, 1);
    lateness_begin(&it, now_ms);
    lateness_await(&it, now_ms + 5);
    lateness_await(&it, now_ms + 7);
    assert_int_equal(lateness_due_ms(&it, now_ms + 7), now_ms + 5 + LATENESS_LEAST_MS);
    lateness_arrived(&it, 1, V, now_ms + 9);
    assert_int_equal(lateness_due_ms(&it, now_ms + 9), now_ms + 5 + LATENESS_LEAST_MS);
    lateness_stop(&it);
    lateness_await(&it, now_ms + 9);
    assert_int_equal(lateness_due_ms(&it, now_ms + 9), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_late_at_first, setup),
        cmocka_unit_test_setup(short_steps_have_a_least_limit, setup),
        cmocka_unit_test_setup(long_steps_have_a_longer_limit, setup),
        cmocka_unit_test_setup(slow_half_does_not_count, setup),
        cmocka_unit_test_setup(one_long_step_counts_little, setup),
        cmocka_unit_test_setup(stop_ends_the_step, setup),
        cmocka_unit_test_setup(silence_is_late, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
