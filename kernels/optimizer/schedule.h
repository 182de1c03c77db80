/*
 * kernels/optimizer/schedule.h: the learning rate of each step.
 *
 * In the first `warmup_steps` steps W the rate rises linearly: learning_rate (s + 1) / W at step s.
 * The schedule begins behind them. With n = s - W it is
 *
 *   constant     learning_rate
 *   linear       from learning_rate to final_learning_rate, which it reaches at step decay_steps
 *                and keeps; with decay_steps 0, learning_rate
 *   cosine       the same along half a wave: final + (learning_rate - final) (1 + cos(pi x)) / 2,
 *                where x = n / (decay_steps - W) (Loshchilov, Hutter 2017, without restarts)
 *   step         learning_rate factor^floor(n / every_steps)
 *   exponential  learning_rate factor^(n / every_steps)
 *   piecewise    rates[i] from step boundaries[i] on; before all of them, learning_rate
 *
 * Rates of `train.before` are the same of the steps below their `until`; n counts from step 0 in
 * each. A rate is a function of the job and the step with the same bits on every machine
 * (kernels/optimizer/real.h).
 */
#ifndef KERNELS_OPTIMIZER_SCHEDULE_H
#define KERNELS_OPTIMIZER_SCHEDULE_H

#include <stdint.h>

#include "common/job/job.h"

/* The last one is of all steps from the `until` of the one before on. */
struct schedule {
    uint32_t count;
    struct job_rate rates[JOB_BEFORE_MAX + 1];
};

/* The schedule of a job that was checked: with that of `train.before`. */
struct schedule schedule_of_job(const struct job *job);

/* The schedule in which `slices` updates have the place of one, and all rates are divided by
 * `divisor`. */
struct schedule schedule_stretch(struct schedule schedule, uint32_t slices, double divisor);

/* The learning rate of the update from `step` to step + 1. */
double schedule_rate(const struct schedule *schedule, uint64_t step);

#endif
