#include "common/job/job_schedule.h"

#include <assert.h>
#include <inttypes.h>

#include "common/job/job_rate.h"

static const char *type_name(const struct job *job)
{
    return schedule_name(job->train.schedule.type);
}

/* Linear and cosine. */
static enum tn_status check_decay(const struct job *job, struct error *error)
{
    const struct job_schedule *schedule = &job->train.schedule;
    bool decays = schedule->type == SCHEDULE_LINEAR || schedule->type == SCHEDULE_COSINE;
    if (!decays && job->train.decay_steps > 0) {
        return error_set(error, TN_EINVAL,
                         "train.decay_steps is %" PRIu64
                         ", but a schedule of type \"%s\" does not use it: remove it, or give "
                         "train.schedule.type \"linear\" or \"cosine\"",
                         job->train.decay_steps, type_name(job));
    }
    if (schedule->type == SCHEDULE_COSINE && job->train.decay_steps == 0) {
        return error_set(error, TN_EINVAL,
                         "train.decay_steps is 0, but a cosine schedule needs an end: give the "
                         "step at which it ends, such as train.steps");
    }
    if (job->train.decay_steps > 0 && schedule->warmup_steps >= job->train.decay_steps) {
        return error_set(error, TN_EINVAL,
                         "train.schedule.warmup_steps is %" PRIu64
                         ", but train.decay_steps only %" PRIu64
                         ": the schedule ends before it begins; lower the first or raise the "
                         "second",
                         schedule->warmup_steps, job->train.decay_steps);
    }
    return TN_OK;
}

/* The logarithm of a smaller factor is below what real_exp() takes. */
static const double FACTOR_LEAST = 1e-300;

/* Step and exponential. */
static enum tn_status check_factor(const struct job *job, struct error *error)
{
    const struct job_schedule *schedule = &job->train.schedule;
    bool shrinks = schedule->type == SCHEDULE_STEP || schedule->type == SCHEDULE_EXPONENTIAL;
    bool complete = schedule->every_steps > 0 && schedule->factor > 0;
    bool given = schedule->every_steps > 0 || schedule->factor > 0;
    if (shrinks && !complete) {
        return error_set(error, TN_EINVAL,
                         "train.schedule.%s is 0, but a schedule of type \"%s\" multiplies the "
                         "rate by `factor` every `every_steps` steps: give both",
                         schedule->every_steps == 0 ? "every_steps" : "factor", type_name(job));
    }
    if (!shrinks && given) {
        return error_set(error, TN_EINVAL,
                         "train.schedule.%s is given, but a schedule of type \"%s\" does not use "
                         "it: remove it, or give train.schedule.type \"step\" or \"exponential\"",
                         schedule->every_steps > 0 ? "every_steps" : "factor", type_name(job));
    }
    if (shrinks && schedule->factor < FACTOR_LEAST) {
        return error_set(error, TN_EINVAL,
                         "train.schedule.factor is %g, which is too small: give at least %g, or "
                         "train.schedule.type \"piecewise\" with a rate of 0",
                         schedule->factor, FACTOR_LEAST);
    }
    return TN_OK;
}

static enum tn_status check_pieces(const struct job *job, struct error *error)
{
    const struct job_schedule *schedule = &job->train.schedule;
    bool given = schedule->boundary_count > 0 || schedule->rate_count > 0;
    if (schedule->type != SCHEDULE_PIECEWISE) {
        if (!given) { return TN_OK; }
        return error_set(error, TN_EINVAL,
                         "train.schedule.%s is given, but a schedule of type \"%s\" does not use "
                         "it: remove it, or give train.schedule.type \"piecewise\"",
                         schedule->boundary_count > 0 ? "boundaries" : "rates", type_name(job));
    }
    if (!given || schedule->boundary_count != schedule->rate_count) {
        return error_set(error, TN_EINVAL,
                         "train.schedule.boundaries has %" PRIu32
                         " steps and train.schedule.rates %" PRIu32
                         " rates: give one rate for each boundary, and at least one",
                         schedule->boundary_count, schedule->rate_count);
    }
    uint64_t last = schedule->warmup_steps;
    for (uint32_t i = 0; i < schedule->boundary_count; i++) {
        if (schedule->boundaries[i] <= last) {
            return error_set(error, TN_EINVAL,
                             "train.schedule.boundaries[%" PRIu32 "] is %" PRIu64
                             ", not more than %s (%" PRIu64 "): give ascending steps",
                             i, schedule->boundaries[i],
                             i == 0 ? "train.schedule.warmup_steps" : "the one before", last);
        }
        last = schedule->boundaries[i];
    }
    return TN_OK;
}

static enum tn_status check_now(const struct job *job, struct error *error)
{
    enum tn_status status = check_decay(job, error);
    if (status == TN_OK) { status = check_factor(job, error); }
    return status == TN_OK ? check_pieces(job, error) : status;
}

static enum tn_status check_before(const struct job *job, uint32_t index, struct error *error)
{
    const struct job_rate *rate = &job->train.before[index];
    const uint64_t last = index > 0 ? job->train.before[index - 1].until : 0;
    struct job then = *job;
    if (rate->until <= last) {
        return error_set(error, TN_EINVAL,
                         "train.before[%" PRIu32 "].until is %" PRIu64
                         ", not more than the one before (%" PRIu64 "): give ascending steps",
                         index, rate->until, last);
    }
    job_rate_set(&then, rate);
    enum tn_status status = check_now(&then, error);
    return status == TN_OK ? TN_OK : error_context(error, "train.before[%" PRIu32 "]", index);
}

enum tn_status job_check_schedule(const struct job *job, struct error *error)
{
    assert(job != NULL);
    enum tn_status status = check_now(job, error);
    for (uint32_t i = 0; status == TN_OK && i < job->train.before_count; i++) {
        status = check_before(job, i, error);
    }
    return status;
}
