#include "kernels/optimizer/schedule.h"

#include <assert.h>

#include "kernels/optimizer/real.h"

struct schedule schedule_of_job(const struct job *job)
{
    return (struct schedule){
        .learning_rate = job->train.learning_rate,
        .final_learning_rate = job->train.final_learning_rate,
        .decay_steps = job->train.decay_steps,
        .keys = job->train.schedule,
    };
}

struct schedule schedule_stretch(struct schedule schedule, uint32_t slices, double divisor)
{
    assert(slices >= 1);
    struct job_schedule *keys = &schedule.keys;
    schedule.learning_rate /= divisor;
    schedule.final_learning_rate /= divisor;
    schedule.decay_steps *= slices;
    keys->warmup_steps *= slices;
    keys->every_steps *= slices;
    for (uint32_t i = 0; i < keys->boundary_count; i++) { keys->boundaries[i] *= slices; }
    for (uint32_t i = 0; i < keys->rate_count; i++) { keys->rates[i] /= divisor; }
    return schedule;
}

/* The part of the decay that is done, 0 to 1. */
static double progress(const struct schedule *schedule, uint64_t step)
{
    uint64_t warmup = schedule->keys.warmup_steps;
    assert(step >= warmup && step < schedule->decay_steps);
    return (double)(step - warmup) / (double)(schedule->decay_steps - warmup);
}

static double decayed(const struct schedule *schedule, uint64_t step)
{
    double from = schedule->learning_rate, to = schedule->final_learning_rate;
    if (schedule->decay_steps == 0) { return from; }
    if (step >= schedule->decay_steps) { return to; }
    double done = progress(schedule, step);
    if (schedule->keys.type == SCHEDULE_LINEAR) { return from + (to - from) * done; }
    return to + (from - to) * (0.5 * (1 + real_cos_pi(done)));
}

/* factor^(steps / every): a whole power, and in an exponential schedule a root for the rest. */
static double shrunk(const struct schedule *schedule, uint64_t steps)
{
    const struct job_schedule *keys = &schedule->keys;
    assert(keys->every_steps > 0);
    assert(keys->factor > 0);
    uint64_t rest = steps % keys->every_steps;
    double rate = schedule->learning_rate * real_power(keys->factor, steps / keys->every_steps);
    if (keys->type == SCHEDULE_STEP || rest == 0) { return rate; }
    return rate * real_exp(real_log(keys->factor) * ((double)rest / (double)keys->every_steps));
}

static double piece(const struct schedule *schedule, uint64_t step)
{
    const struct job_schedule *keys = &schedule->keys;
    assert(keys->boundary_count == keys->rate_count);
    double rate = schedule->learning_rate;
    for (uint32_t i = 0; i < keys->boundary_count && step >= keys->boundaries[i]; i++) {
        rate = keys->rates[i];
    }
    return rate;
}

double schedule_rate(const struct schedule *schedule, uint64_t step)
{
    uint64_t warmup = schedule->keys.warmup_steps;
    if (step < warmup) { return schedule->learning_rate * ((double)(step + 1) / (double)warmup); }
    switch (schedule->keys.type) {
    case SCHEDULE_CONSTANT: break;
    case SCHEDULE_LINEAR:
    case SCHEDULE_COSINE: return decayed(schedule, step);
    case SCHEDULE_STEP:
    case SCHEDULE_EXPONENTIAL: return shrunk(schedule, step - warmup);
    case SCHEDULE_PIECEWISE: return piece(schedule, step);
    }
    return schedule->learning_rate;
}
