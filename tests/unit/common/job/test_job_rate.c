/* Changes of the learning rate: what `train.before` holds, and the rate of each step by it. */
#include "common/job/job_rate.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/optimizer/schedule.h"

static struct job of_rate(double rate)
{
    struct job job;
    job_init(&job);
    job.train.learning_rate = rate;
    return job;
}

static double rate_at(const struct job *job, uint64_t step)
{
    const struct schedule schedule = schedule_of_job(job);
    return schedule_rate(&schedule, step);
}

/* `job` is continued at `step` with this rate. */
static void change(struct job *job, uint64_t step, double rate)
{
    struct error error;
    struct job next = of_rate(rate);
    assert_int_equal(job_rate_change(&next, job, step, &error), TN_OK);
    assert_int_equal(job_check(&next, &error), TN_OK);
    *job = next;
}

/* Steps that are done again have the rate that they had, however often it was changed. */
static void earlier_steps_keep_their_rate(void **state)
{
    (void)state;
    struct job job = of_rate(0.5);
    change(&job, 100, 0.25);
    change(&job, 300, 0.125);
    assert_int_equal(job.train.before_count, 2);
    const struct {
        uint64_t step;
        double rate;
    } rows[] = {{0, 0.5}, {99, 0.5}, {100, 0.25}, {299, 0.25}, {300, 0.125}, {9999999, 0.125}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(rate_at(&job, rows[i].step) == rows[i].rate);
    }
}

/* Schedules count from step 0, also those that begin in the middle. */
static void schedules_count_from_the_start(void **state)
{
    (void)state;
    struct error error;
    struct job job = of_rate(0.5), next = of_rate(0.25);
    job.train.decay_steps = 200;
    next.train.schedule.warmup_steps = 400;
    const struct job stored = job;
    assert_int_equal(job_rate_change(&next, &stored, 100, &error), TN_OK);
    for (uint64_t step = 0; step < 100; step++) {
        assert_true(rate_at(&next, step) == rate_at(&stored, step));
    }
    assert_true(rate_at(&next, 199) == 0.25 * 200 / 400);
    assert_true(rate_at(&next, 400) == 0.25);
}

/* A rate that held for no step leaves nothing, and steps that were taken back are forgotten. */
static void only_rates_that_held_remain(void **state)
{
    (void)state;
    struct job job = of_rate(0.5);
    change(&job, 0, 0.4);
    assert_int_equal(job.train.before_count, 0);
    change(&job, 100, 0.25);
    change(&job, 100, 0.125);
    assert_int_equal(job.train.before_count, 1);
    assert_true(rate_at(&job, 99) == 0.4 && rate_at(&job, 100) == 0.125);
    change(&job, 300, 0.0625);
    change(&job, 200, 0.03125); /* A restore went back before the last change. */
    assert_int_equal(job.train.before_count, 2);
    assert_true(rate_at(&job, 199) == 0.125 && rate_at(&job, 200) == 0.03125);
    change(&job, 50, 1);
    assert_int_equal(job.train.before_count, 1);
    assert_true(rate_at(&job, 49) == 0.4 && rate_at(&job, 50) == 1);
}

/* The list is bounded; a change that shortens it is possible nonetheless. */
static void full_list_is_refused(void **state)
{
    (void)state;
    struct error error;
    struct job job = of_rate(0.5), next = of_rate(0.75);
    for (uint64_t i = 1; i <= JOB_BEFORE_MAX; i++) { change(&job, 10 * i, 0.5 / (double)i); }
    const struct job stored = job;
    assert_int_equal(job_rate_change(&next, &stored, 1000, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.before has 16"));
    change(&job, 15, 0.75);
    assert_int_equal(job.train.before_count, 2);
}

/* In async mode, where a step is `slices` updates, the boundary is one of steps, too. */
static void boundary_is_stretched(void **state)
{
    (void)state;
    struct job job = of_rate(0.5);
    change(&job, 100, 0.25);
    const struct schedule schedule = schedule_stretch(schedule_of_job(&job), 8, 1);
    assert_true(schedule_rate(&schedule, 799) == 0.5 && schedule_rate(&schedule, 800) == 0.25);
    assert_true(schedule_rate(&schedule, UINT64_MAX) == 0.25);
}

/* A job without `train.before` that continues another one becomes the same. */
static void a_given_job_gets_the_earlier_rates(void **state)
{
    (void)state;
    struct job a = of_rate(0.5), b = of_rate(0.25);
    assert_true(job_rate_differs(&a, &b));
    change(&a, 100, 0.25);
    assert_false(job_rate_differs(&a, &b));
    assert_true(job_hash(&a) != job_hash(&b));
    job_rate_adopt(&b, &a);
    assert_true(job_hash(&a) == job_hash(&b));
}

/* The list comes back from the canonical JSON, and mistakes in it are named. */
static void list_is_read(void **state)
{
    (void)state;
    struct error error;
    struct job job = of_rate(0.5), again;
    job.train.schedule.type = SCHEDULE_PIECEWISE;
    job.train.schedule.boundary_count = job.train.schedule.rate_count = 1;
    job.train.schedule.boundaries[0] = 10;
    job.train.schedule.rates[0] = 0.375;
    change(&job, 100, 0.25);
    char *text = job_to_json(&job);
    job_init(&again);
    assert_int_equal(job_read_text(&again, text, strlen(text), "text", &error), TN_OK);
    free(text);
    assert_true(rate_at(&again, 9) == 0.5 && rate_at(&again, 10) == 0.375);
    assert_true(rate_at(&again, 100) == 0.25 && job_hash(&again) == job_hash(&job));
    assert_int_equal(job_set(&again, "train.before=[{\"learning_rate\":1}]", &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.before[0].until is missing"));
    assert_int_equal(job_set(&again,
                             "train.before=[{\"until\":9,\"learning_rate\":1},"
                             "{\"until\":9,\"learning_rate\":2}]",
                             &error),
                     TN_OK);
    assert_int_equal(job_check(&again, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.before[1].until is 9, not more than"));
    assert_int_equal(job_set(&again,
                             "train.before=[{\"until\":9,\"learning_rate\":1,\"decay_steps\":5,"
                             "\"schedule\":{\"type\":\"constant\"}}]",
                             &error),
                     TN_OK);
    assert_int_equal(job_check(&again, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.before[0]: train.decay_steps is 5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_steps_keep_their_rate),
        cmocka_unit_test(schedules_count_from_the_start),
        cmocka_unit_test(only_rates_that_held_remain),
        cmocka_unit_test(full_list_is_refused),
        cmocka_unit_test(boundary_is_stretched),
        cmocka_unit_test(a_given_job_gets_the_earlier_rates),
        cmocka_unit_test(list_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
