#include "common/cluster/job_rate.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/cluster/job_keys.h"

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

/* ------------------------------------------------------------- differences */

struct differences {
    char *text; /* Cut where the rest does not fit. */
    size_t size, used;
    bool any;
};

static void add_text(struct differences *found, const char *text)
{
    const size_t length = size_min(strlen(text), found->size - 1 - found->used);
    assert(found->used < found->size);
    memcpy(found->text + found->used, text, length);
    found->used += length;
    found->text[found->used] = '\0';
}

static void add_value(struct differences *found, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    add_text(found, text != NULL ? text : "?");
    free(text);
}

static void note_difference(void *ctx, const char *key, json_t *from, json_t *to)
{
    struct differences *found = ctx;
    if ((json_codec_find(&job_keys, key)->tags & JOB_KEY_RATE) == 0) { return; }
    add_text(found, found->any ? ", " : "");
    found->any = true;
    add_text(found, key);
    add_text(found, " ");
    add_value(found, from);
    add_text(found, " -> ");
    add_value(found, to);
}

bool job_rate_differs(const struct job *a, const struct job *b)
{
    char none[1];
    struct differences found = {.text = none, .size = 1};
    job_changes(a, b, note_difference, &found);
    return found.any;
}

void job_rate_text(const struct job *from, const struct job *to, char *text, size_t size)
{
    assert(size > 0);
    struct differences found = {.text = text, .size = size};
    text[0] = '\0';
    job_changes(from, to, note_difference, &found);
}

bool job_rate_alone_differs(const struct job *a, const struct job *b)
{
    char text[JOB_DIFFERENCE_MAX];
    const struct job_rate rate = job_rate_of(b);
    struct job same = *a;
    if (!job_rate_differs(a, b)) { return false; }
    job_rate_set(&same, &rate);
    return !job_difference(&same, b, text);
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
