#include "kernels/optimizer/schedule.h"

#include <assert.h>
#include <string.h>

#include "common/job/job_rate.h"
#include "kernels/optimizer/real.h"

struct schedule schedule_of_job(const struct job *job)
{
    const uint32_t earlier = job->train.before_count;
    struct schedule schedule = {.count = earlier + 1};
    assert(earlier <= JOB_BEFORE_MAX);
    memcpy(schedule.rates, job->train.before, earlier * sizeof schedule.rates[0]);
    schedule.rates[earlier] = job_rate_of(job);
    return schedule;
}

static void stretch(struct job_rate *rate, uint32_t slices, double divisor)
{
    struct job_schedule *keys = &rate->schedule;
    rate->learning_rate /= divisor;
    rate->final_learning_rate /= divisor;
    rate->decay_steps *= slices;
    if (rate->until != UINT64_MAX) { rate->until *= slices; }
    keys->warmup_steps *= slices;
    keys->every_steps *= slices;
    for (uint32_t i = 0; i < keys->boundary_count; i++) { keys->boundaries[i] *= slices; }
    for (uint32_t i = 0; i < keys->rate_count; i++) { keys->rates[i] /= divisor; }
}

struct schedule schedule_stretch(struct schedule schedule, uint32_t slices, double divisor)
{
    assert(slices >= 1);
    for (uint32_t i = 0; i < schedule.count; i++) { stretch(&schedule.rates[i], slices, divisor); }
    return schedule;
}

/* The part of the decay that is done, 0 to 1. */
static double progress(const struct job_rate *rate, uint64_t step)
{
    uint64_t warmup = rate->schedule.warmup_steps;
    assert(step >= warmup && step < rate->decay_steps);
    return (double)(step - warmup) / (double)(rate->decay_steps - warmup);
}

static double decayed(const struct job_rate *rate, uint64_t step)
{
    double from = rate->learning_rate, to = rate->final_learning_rate;
    if (rate->decay_steps == 0) { return from; }
    if (step >= rate->decay_steps) { return to; }
    double done = progress(rate, step);
    if (rate->schedule.type == SCHEDULE_LINEAR) { return from + (to - from) * done; }
    return to + (from - to) * (0.5 * (1 + real_cos_pi(done)));
}

/* factor^(steps / every): a whole power, and in an exponential schedule a root for the rest. */
static double shrunk(const struct job_rate *rate, uint64_t steps)
{
    const struct job_schedule *keys = &rate->schedule;
    assert(keys->every_steps > 0);
    assert(keys->factor > 0);
    uint64_t rest = steps % keys->every_steps;
    double start = rate->learning_rate * real_power(keys->factor, steps / keys->every_steps);
    if (keys->type == SCHEDULE_STEP || rest == 0) { return start; }
    return start * real_exp(real_log(keys->factor) * ((double)rest / (double)keys->every_steps));
}

static double piece(const struct job_rate *rate, uint64_t step)
{
    const struct job_schedule *keys = &rate->schedule;
    assert(keys->boundary_count == keys->rate_count);
    double found = rate->learning_rate;
    for (uint32_t i = 0; i < keys->boundary_count && step >= keys->boundaries[i]; i++) {
        found = keys->rates[i];
    }
    return found;
}

static double rate_at(const struct job_rate *rate, uint64_t step)
{
    uint64_t warmup = rate->schedule.warmup_steps;
    if (step < warmup) { return rate->learning_rate * ((double)(step + 1) / (double)warmup); }
    switch (rate->schedule.type) {
    case SCHEDULE_CONSTANT: break;
    case SCHEDULE_LINEAR:
    case SCHEDULE_COSINE: return decayed(rate, step);
    case SCHEDULE_STEP:
    case SCHEDULE_EXPONENTIAL: return shrunk(rate, step - warmup);
    case SCHEDULE_PIECEWISE: return piece(rate, step);
    }
    return rate->learning_rate;
}

double schedule_rate(const struct schedule *schedule, uint64_t step)
{
    uint32_t i = 0;
    assert(schedule->count >= 1);
    while (i + 1 < schedule->count && step >= schedule->rates[i].until) { i++; }
    return rate_at(&schedule->rates[i], step);
}
