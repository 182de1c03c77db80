#include "common/job/job_resume.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/job/job_keys.h"
#include "common/job/job_rate.h"
#include "common/job/strategy.h"

enum { STRATEGY_TEXT_MAX = 48 };

bool job_has_same_parts(const struct job *a, const struct job *b)
{
    return a->cluster.ps == b->cluster.ps &&
           row_borders_equal(&a->placement.rows, &b->placement.rows);
}

void job_resume_adopt(struct job *job, const struct job *stored)
{
    job_rate_adopt(job, stored);
    if (job->placement.rows.count == 0 && job->cluster.ps == stored->cluster.ps) {
        job->placement.rows = stored->placement.rows;
    }
}

bool job_resume_allows(const struct job *from, const struct job *to)
{
    char text[JOB_DIFFERENCE_MAX];
    const struct job_rate rate = job_rate_of(to);
    struct job same = *from;
    if (job_has_same_parts(from, to) && !job_rate_differs(from, to)) { return false; }
    job_rate_set(&same, &rate);
    same.cluster.ps = to->cluster.ps;
    same.placement.rows = to->placement.rows;
    return !job_difference(&same, to, text);
}

/* ------------------------------------------------------------- differences */

struct differences {
    char *text; /* Cut where the rest does not fit. */
    size_t size, used;
    bool of_strategy; /* One of the jobs has no ps: do not name their number as well. */
};

static void add_text(struct differences *found, const char *text)
{
    const size_t length = size_min(strlen(text), found->size - 1 - found->used);
    assert(found->used < found->size);
    memcpy(found->text + found->used, text, length);
    found->used += length;
    found->text[found->used] = '\0';
}

static const char *strategy_text(const struct job *job)
{
    if (job->strategy.type == STRATEGY_TYPE_GROUP) { return "group"; }
    return job->cluster.ps > 0 ? "ps" : "mirror"; /* strategy_settle() */
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
    if ((json_codec_find(&job_keys, key)->tags & JOB_KEY_RESUME) == 0) { return; }
    if (found->of_strategy && strcmp(key, "cluster.ps") == 0) { return; }
    add_text(found, found->used > 0 ? ", " : "");
    add_text(found, key);
    add_text(found, " ");
    add_value(found, from);
    add_text(found, " -> ");
    add_value(found, to);
}

void job_resume_text(const struct job *from, const struct job *to, char *text, size_t size)
{
    assert(size > 0);
    struct differences found = {
        .text = text,
        .size = size,
        .of_strategy = (from->cluster.ps == 0) != (to->cluster.ps == 0),
    };
    text[0] = '\0';
    if (found.of_strategy) {
        add_text(&found, "strategy.type ");
        add_text(&found, strategy_text(from));
        add_text(&found, " -> ");
        add_text(&found, strategy_text(to));
    }
    job_changes(from, to, note_difference, &found);
}

enum tn_status job_resume_check(const struct job *from, const struct job *to, struct error *error)
{
    assert(to->placement.strategy == from->placement.strategy);
    if (from->cluster.ps == to->cluster.ps || from->placement.strategy == PLACEMENT_RANGES) {
        return TN_OK;
    }
    if (to->cluster.ps == 0 || from->cluster.ps == 0) {
        return error_set(error, TN_EINVAL,
                         "strategy.type cannot change from %s to %s with placement.strategy %s, "
                         "which puts the parameters into another order: keep it, or begin a new "
                         "run with --warm-start",
                         strategy_text(from), strategy_text(to),
                         placement_strategy_name(from->placement.strategy));
    }
    return error_set(
        error, TN_EINVAL,
        "cluster.ps cannot change from %" PRIu32 " to %" PRIu32
        " with placement.strategy %s, which puts the parameters into another order for "
        "each number of ps: keep %" PRIu32 ", or begin a new run with --warm-start",
        from->cluster.ps, to->cluster.ps, placement_strategy_name(from->placement.strategy),
        from->cluster.ps);
}

/* "group with strategy.members 2". */
static void describe_strategy(const struct job *job, char text[static STRATEGY_TEXT_MAX])
{
    const uint32_t members = strategy_members(job);
    const char *name = strategy_of_job(job)->on_cluster ? strategy_text(job) : "local";
    if (members == 1) {
        (void)snprintf(text, STRATEGY_TEXT_MAX, "%s", name);
    } else {
        (void)snprintf(text, STRATEGY_TEXT_MAX, "%s with strategy.members %" PRIu32, name, members);
    }
}

enum tn_status job_resume_check_order(const struct job *from, const struct job *to,
                                      struct error *error)
{
    char before[STRATEGY_TEXT_MAX], after[STRATEGY_TEXT_MAX];
    if (strategy_members(from) == strategy_members(to)) { return TN_OK; }
    describe_strategy(from, before);
    describe_strategy(to, after);
    return error_set(error, TN_EINVAL,
                     "strategy.type cannot change from %s to %s: each member of a group has its "
                     "variables on its own ps, which puts the parameters into another order; keep "
                     "it, or begin a new run with --warm-start",
                     before, after);
}
