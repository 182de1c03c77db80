#include "common/job/job_rate.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/job/job_keys.h"

struct job_rate job_rate_of(const struct job *job)
{
    assert(job != NULL);
    return (struct job_rate){
        .until = UINT64_MAX,
        .learning_rate = job->train.learning_rate,
        .final_learning_rate = job->train.final_learning_rate,
        .decay_steps = job->train.decay_steps,
        .schedule = job->train.schedule,
    };
}

void job_rate_set(struct job *job, const struct job_rate *rate)
{
    job->train.learning_rate = rate->learning_rate;
    job->train.final_learning_rate = rate->final_learning_rate;
    job->train.decay_steps = rate->decay_steps;
    job->train.schedule = rate->schedule;
}

static void copy_before(struct job *job, const struct job *stored)
{
    assert(stored->train.before_count <= JOB_BEFORE_MAX);
    memcpy(job->train.before, stored->train.before, sizeof job->train.before);
    job->train.before_count = stored->train.before_count;
}

void job_rate_adopt(struct job *job, const struct job *stored)
{
    if (job->train.before_count == 0) { copy_before(job, stored); }
}

static void note_difference(void *ctx, const char *key, json_t *from, json_t *to)
{
    bool *differs = ctx;
    (void)from;
    (void)to;
    *differs = *differs || (json_codec_find(&job_keys, key)->tags & JOB_KEY_RATE) != 0;
}

bool job_rate_differs(const struct job *a, const struct job *b)
{
    bool differs = false;
    job_changes(a, b, note_difference, &differs);
    return differs;
}

/* ------------------------------------------------------------- changing */

enum tn_status job_rate_change(struct job *job, const struct job *stored, uint64_t step,
                               struct error *error)
{
    struct job_rate held = job_rate_of(stored);
    uint32_t kept = 0;
    copy_before(job, stored);
    while (kept < job->train.before_count && job->train.before[kept].until < step) { kept++; }
    /* The rate that held at step - 1 is the last one; it may be an earlier one of `stored`. */
    if (kept < job->train.before_count) { held = job->train.before[kept]; }
    if (step > 0 && kept == JOB_BEFORE_MAX) {
        return error_set(error, TN_EINVAL,
                         "train.before has %d earlier learning rates, and no room for another: "
                         "begin a new run with --warm-start",
                         JOB_BEFORE_MAX);
    }
    memset(job->train.before + kept, 0, (JOB_BEFORE_MAX - kept) * sizeof held);
    job->train.before_count = kept;
    if (step == 0) { return TN_OK; }
    held.until = step;
    job->train.before[job->train.before_count++] = held;
    return TN_OK;
}
