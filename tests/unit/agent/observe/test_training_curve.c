/* The training curve: points at multiples, the same ones again after a recovery. */
#include "agent/observe/training_curve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

enum { POINTS_MAX = 64, STEPS = 200000 };

static struct training_curve *curve;
static struct training_curve_point points[POINTS_MAX];
static uint32_t count;
static double losses[STEPS]; /* By step. */

static void keep(void *ctx, const struct training_curve_point *point)
{
    (void)ctx;
    assert_true(count < POINTS_MAX);
    points[count++] = *point;
}

static int begin(void **state)
{
    (void)state;
    curve = calloc(1, sizeof *curve);
    curve->every_steps = 100;
    count = 0;
    for (int i = 0; i < STEPS; i++) { losses[i] = 1.0 / (i + 1); }
    return curve == NULL;
}

static int end(void **state)
{
    (void)state;
    free(curve);
    return 0;
}

static void add(uint64_t first, uint32_t steps, double now_ms)
{
    training_curve_add(curve, first, losses + first, steps, now_ms, keep, NULL);
}

static double mean(uint64_t first, uint64_t last)
{
    double sum = 0;
    for (uint64_t i = first; i < last; i++) { sum += losses[i]; }
    return sum / (double)(last - first);
}

/* A point has the mean of its interval, and its time is between those of the answers. */
static void points_are_at_multiples(void **state)
{
    (void)state;
    training_curve_load(curve, 0, 1000);
    add(0, 50, 1050);
    assert_int_equal(count, 0);
    add(50, 200, 1250);
    assert_int_equal(count, 2);
    assert_true(points[0].step == 100 && points[1].step == 200);
    assert_true(points[0].loss == mean(0, 100) && points[1].loss == mean(100, 200));
    assert_true(fabs(points[0].at_ms - 1100) < 1e-6 && fabs(points[1].at_ms - 1200) < 1e-6);
    assert_true(fabs(points[1].steps_per_second - 1000) < 1e-6);
    training_curve_end(curve, keep, NULL);
    assert_int_equal(count, 3);
    assert_true(points[2].step == 250 && points[2].loss == mean(200, 250));
    assert_int_equal(points[2].interval_steps, 50);
    training_curve_end(curve, keep, NULL);
    assert_int_equal(count, 3);
}

/* After a load in the middle of an interval, its point is the one of an undisturbed run. */
static void recovery_repeats_points(void **state)
{
    (void)state;
    training_curve_load(curve, 0, 0);
    add(0, 430, 430);
    assert_int_equal(count, 4);
    training_curve_load(curve, 250, 1000);
    assert_int_equal(curve->next, 250);
    add(250, 80, 1080);
    assert_int_equal(count, 5);
    assert_int_equal(points[4].step, 300);
    assert_true(points[4].loss == points[2].loss);
    assert_int_equal(points[4].loss_steps, 100);
    assert_true(fabs(points[4].steps_per_second - 1000) < 1e-6);
}

/* No step ends within a pause; the rate of the first point after it includes the pause. */
static void pause_has_no_steps(void **state)
{
    (void)state;
    training_curve_load(curve, 0, 0);
    add(0, 150, 150);
    training_curve_wait(curve, 5150);
    add(150, 100, 5250);
    assert_int_equal(count, 2);
    assert_true(points[1].step == 200 && fabs(points[1].at_ms - 5200) < 1e-6);
    assert_true(fabs(points[1].steps_per_second - 1000 * 100 / 5100.0) < 1e-6);
}

/* Steps without a known loss are left out of the mean, and counted. */
static void gap_is_counted(void **state)
{
    (void)state;
    training_curve_load(curve, 1000, 0);
    add(1060, 100, 100);
    assert_int_equal(count, 1);
    assert_int_equal(points[0].step, 1100);
    assert_int_equal(points[0].loss_steps, 40);
    assert_int_equal(points[0].interval_steps, 100);
    assert_true(points[0].loss == mean(1060, 1100));
    training_curve_add(curve, 1500, NULL, 0, 200, keep, NULL);
    assert_int_equal(curve->next, 1500);
    add(1500, 100, 300);
    assert_int_equal(count, 2);
    assert_true(points[1].step == 1600 && points[1].loss == mean(1500, 1600));
}

/* With slow steps, time makes points too. */
static void time_makes_points(void **state)
{
    (void)state;
    curve->every_ms = 1000;
    training_curve_load(curve, 0, 0);
    add(0, 1, 600);
    assert_int_equal(count, 0);
    add(1, 1, 1200);
    assert_int_equal(count, 1);
    assert_true(points[0].step == 2 && points[0].loss == mean(0, 2));
}

/* Only the newest losses are kept, and the interval may be longer than that. */
static void memory_is_bounded(void **state)
{
    (void)state;
    curve->every_steps = 100000;
    training_curve_load(curve, 0, 0);
    for (uint64_t at = 0; at < 100000; at += 10000) { add(at, 10000, (double)at); }
    assert_int_equal(count, 1);
    assert_int_equal(points[0].loss_steps, TRAINING_CURVE_KEPT);
    assert_true(points[0].loss == mean(100000 - TRAINING_CURVE_KEPT, 100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(points_are_at_multiples, begin, end),
        cmocka_unit_test_setup_teardown(recovery_repeats_points, begin, end),
        cmocka_unit_test_setup_teardown(pause_has_no_steps, begin, end),
        cmocka_unit_test_setup_teardown(gap_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(time_makes_points, begin, end),
        cmocka_unit_test_setup_teardown(memory_is_bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
