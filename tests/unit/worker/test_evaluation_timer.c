/* The reported time of an evaluation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/evaluation_timer.h"

enum { MS = 1000 * 1000 };

/* A time that is unknown is not reported as a short one. */
static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct evaluation_timer timer = {0};
    evaluation_timer_add(&timer, 0);
    assert_int_equal(timer.reported_ms, 0);
    evaluation_timer_add(&timer, 1);
    assert_int_equal(timer.reported_ms, 1);
}

/* The reported time is never shorter than the evaluation. */
static void time_is_rounded_up(void **state)
{
    (void)state;
    struct evaluation_timer timer = {0};
    evaluation_timer_add(&timer, 4 * MS);
    assert_int_equal(timer.reported_ms, 4);
    evaluation_timer_add(&timer, 4 * MS + 1);
    assert_int_equal(timer.reported_ms, 8);
    evaluation_timer_add(&timer, UINT64_MAX);
    assert_in_range(timer.reported_ms, UINT64_MAX / MS, UINT64_C(1) << 62);
}

/* Times that differ a little cause no reports. */
static void times_that_differ_little_are_reported_once(void **state)
{
    (void)state;
    struct evaluation_timer timer = {0};
    uint32_t changes = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t former_ms = timer.reported_ms;
        evaluation_timer_add(&timer, 90 * MS + i * 37 % 40 * MS / 10);
        changes += timer.reported_ms != former_ms;
    }
    assert_int_equal(changes, 1);
    assert_int_equal(timer.reported_ms, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(time_is_rounded_up),
        cmocka_unit_test(times_that_differ_little_are_reported_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
