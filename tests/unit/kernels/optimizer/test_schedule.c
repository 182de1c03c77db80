/* Schedules: the rate at chosen steps, warm-up, and the schedule of async mode. */
#include "kernels/optimizer/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct schedule of_type(enum schedule_type type)
{
    return (struct schedule){
        .count = 1,
        .rates = {{.until = UINT64_MAX, .learning_rate = 0.5, .schedule = {.type = type}}}};
}

static void assert_rate(const struct schedule *schedule, uint64_t step, double expected)
{
    double rate = schedule_rate(schedule, step);
    if (!(fabs(rate - expected) <= 1e-15)) {
        fail_msg("step %" PRIu64 " has the rate %.17g instead of %.17g", step, rate, expected);
    }
}

/* A constant rate stays, and so does a linear one without an end. */
static void constant_stays(void **state)
{
    (void)state;
    struct schedule constant = of_type(SCHEDULE_CONSTANT), linear = of_type(SCHEDULE_LINEAR);
    for (uint64_t step = 0; step < 1000000; step += 999) {
        assert_true(schedule_rate(&constant, step) == 0.5);
        assert_true(schedule_rate(&linear, step) == 0.5);
    }
    assert_true(schedule_rate(&constant, UINT64_MAX) == 0.5);
}

/* A linear rate reaches the final one at its last step and keeps it. */
static void linear_ends(void **state)
{
    (void)state;
    struct schedule schedule = of_type(SCHEDULE_LINEAR);
    schedule.rates[0].final_learning_rate = 0.25;
    schedule.rates[0].decay_steps = 100;
    assert_true(schedule_rate(&schedule, 0) == 0.5);
    assert_true(schedule_rate(&schedule, 50) == 0.375);
    assert_true(schedule_rate(&schedule, 100) == 0.25);
    assert_true(schedule_rate(&schedule, UINT64_MAX) == 0.25);
}

/* A cosine falls slowly at both ends, and is half way in the middle. */
static void cosine_ends(void **state)
{
    (void)state;
    struct schedule schedule = of_type(SCHEDULE_COSINE);
    schedule.rates[0].final_learning_rate = 0.1;
    schedule.rates[0].decay_steps = 1000;
    for (uint64_t step = 0; step <= 1000; step++) {
        assert_rate(&schedule, step, 0.1 + 0.4 * (1 + cos(M_PI * (double)step / 1000)) / 2);
    }
    assert_true(schedule_rate(&schedule, 0) == 0.5);
    assert_true(schedule_rate(&schedule, 1000) == 0.1);
    assert_true(schedule_rate(&schedule, 5000) == 0.1);
}

/* A stepped rate is multiplied at once, an exponential one continuously; both meet. */
static void factors_multiply(void **state)
{
    (void)state;
    struct schedule step = of_type(SCHEDULE_STEP), smooth = of_type(SCHEDULE_EXPONENTIAL);
    step.rates[0].schedule.every_steps = smooth.rates[0].schedule.every_steps = 10;
    step.rates[0].schedule.factor = smooth.rates[0].schedule.factor = 0.7;
    for (uint64_t s = 0; s < 100; s++) {
        assert_rate(&step, s, 0.5 * pow(0.7, floor((double)s / 10)));
        assert_rate(&smooth, s, 0.5 * pow(0.7, (double)s / 10));
        if (s % 10 == 0) { assert_true(schedule_rate(&step, s) == schedule_rate(&smooth, s)); }
    }
}

/* Each rate of a piecewise schedule begins at its boundary. */
static void pieces_begin(void **state)
{
    (void)state;
    struct schedule schedule = of_type(SCHEDULE_PIECEWISE);
    schedule.rates[0].schedule.boundary_count = schedule.rates[0].schedule.rate_count = 2;
    schedule.rates[0].schedule.boundaries[0] = 100, schedule.rates[0].schedule.rates[0] = 0.25;
    schedule.rates[0].schedule.boundaries[1] = 200, schedule.rates[0].schedule.rates[1] = 0.0625;
    assert_true(schedule_rate(&schedule, 99) == 0.5);
    assert_true(schedule_rate(&schedule, 100) == 0.25);
    assert_true(schedule_rate(&schedule, 199) == 0.25);
    assert_true(schedule_rate(&schedule, 200) == 0.0625);
}

/* Warm-up rises linearly in front of each type, which begins behind it. */
static void warmup_is_in_front(void **state)
{
    (void)state;
    for (enum schedule_type type = SCHEDULE_CONSTANT; type <= SCHEDULE_PIECEWISE; type++) {
        struct schedule schedule = of_type(type);
        schedule.rates[0].schedule.warmup_steps = 8;
        if (type == SCHEDULE_LINEAR || type == SCHEDULE_COSINE) {
            schedule.rates[0].decay_steps = 108;
        }
        schedule.rates[0].schedule.every_steps = 100;
        schedule.rates[0].schedule.factor = 0.5;
        schedule.rates[0].schedule.boundary_count = schedule.rates[0].schedule.rate_count = 1;
        schedule.rates[0].schedule.boundaries[0] = 108;
        for (uint64_t s = 0; s < 8; s++) {
            assert_true(schedule_rate(&schedule, s) == 0.5 * (double)(s + 1) / 8);
        }
        assert_true(schedule_rate(&schedule, 8) == 0.5);
        bool ends =
            type == SCHEDULE_LINEAR || type == SCHEDULE_COSINE || type == SCHEDULE_PIECEWISE;
        bool halves = type == SCHEDULE_STEP || type == SCHEDULE_EXPONENTIAL;
        assert_true(schedule_rate(&schedule, 108) == (ends ? 0 : halves ? 0.25 : 0.5));
    }
}

/* With 4 updates in place of one, step 4 s has the rate of step s, divided. */
static void stretch_keeps_the_shape(void **state)
{
    (void)state;
    for (enum schedule_type type = SCHEDULE_CONSTANT; type <= SCHEDULE_PIECEWISE; type++) {
        struct schedule schedule = of_type(type);
        schedule.rates[0].final_learning_rate = 0.125;
        if (type == SCHEDULE_LINEAR || type == SCHEDULE_COSINE) {
            schedule.rates[0].decay_steps = 32;
        }
        schedule.rates[0].schedule.every_steps = 6;
        schedule.rates[0].schedule.factor = 0.75;
        schedule.rates[0].schedule.warmup_steps = 5;
        schedule.rates[0].schedule.boundary_count = schedule.rates[0].schedule.rate_count = 1;
        schedule.rates[0].schedule.boundaries[0] = 20, schedule.rates[0].schedule.rates[0] = 0.25;
        struct schedule stretched = schedule_stretch(schedule, 4, 2);
        for (uint64_t s = 5; s < 50; s++) {
            assert_rate(&stretched, 4 * s, schedule_rate(&schedule, s) / 2);
        }
        assert_rate(&stretched, 19, 0.25);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_stays),
        cmocka_unit_test(linear_ends),
        cmocka_unit_test(cosine_ends),
        cmocka_unit_test(factors_multiply),
        cmocka_unit_test(pieces_begin),
        cmocka_unit_test(warmup_is_in_front),
        cmocka_unit_test(stretch_keeps_the_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
