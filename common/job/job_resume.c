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

bool job_strategy_differs(const struct job *from, const struct job *to)
{
    return (from->cluster.ps == 0) != (to->cluster.ps == 0) ||
           strategy_members(from) != strategy_members(to);
}

bool job_layout_differs(const struct job *from, const struct job *to)
{
    return job_strategy_differs(from, to) || from->cluster.ps != to->cluster.ps ||
           from->placement.strategy != to->placement.strategy ||
           !row_borders_equal(&from->placement.rows, &to->placement.rows);
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
    if (!job_layout_differs(from, to) && !job_rate_differs(from, to)) { return false; }
    job_rate_set(&same, &rate);
    same.cluster.ps = to->cluster.ps;
    same.placement.strategy = to->placement.strategy;
    same.placement.rows = to->placement.rows;
    return !job_difference(&same, to, text);
}

/* ------------------------------------------------------------- differences */

struct differences {
    char *text; /* Cut where the rest does not fit. */
    size_t size, used;
    bool without_ps; /* One of the jobs has none: do not name their number as well. */
};

static void add_text(struct differences *found, const char *text)
{
    const size_t length = size_min(strlen(text), found->size - 1 - found->used);
    assert(found->used < found->size);
    memcpy(found->text + found->used, text, length);
    found->used += length;
    found->text[found->used] = '\0';
}

const char *job_strategy_text(const struct job *job)
{
    if (job->strategy.type == STRATEGY_TYPE_GROUP) { return "group"; }
    if (job->strategy.type == STRATEGY_TYPE_LOCAL) { return "local"; }
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
    if (found->without_ps && strcmp(key, "cluster.ps") == 0) { return; }
    add_text(found, found->used > 0 ? ", " : "");
    add_text(found, key);
    add_text(found, " ");
    add_value(found, from);
    add_text(found, " -> ");
    add_value(found, to);
}

/* "group of 2" */
static void add_strategy(struct differences *found, const struct job *job)
{
    char members[24];
    add_text(found, job_strategy_text(job));
    if (strategy_members(job) == 1) { return; }
    (void)snprintf(members, sizeof members, " of %" PRIu32, strategy_members(job));
    add_text(found, members);
    if (job->cluster.ps == 0) { add_text(found, " without ps"); }
}

void job_resume_text(const struct job *from, const struct job *to, char *text, size_t size)
{
    assert(size > 0);
    struct differences found = {
        .text = text,
        .size = size,
        .without_ps = (from->cluster.ps == 0) != (to->cluster.ps == 0),
    };
    text[0] = '\0';
    if (job_strategy_differs(from, to)) {
        add_text(&found, "strategy.type ");
        add_strategy(&found, from);
        add_text(&found, " -> ");
        add_strategy(&found, to);
    }
    job_changes(from, to, note_difference, &found);
}

enum tn_status job_resume_check(const struct job *from, const struct job *to, struct error *error)
{
    const bool ordered =
        from->placement.strategy != PLACEMENT_RANGES || to->placement.strategy != PLACEMENT_RANGES;
    if (from->model.warm_start[0] == '\0' || !ordered || !job_layout_differs(from, to)) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "cluster.ps, placement.strategy and strategy.type cannot change with "
                     "placement.strategy %s in a run that began with model.warm_start: keep them, "
                     "or begin a new run from its checkpoint with --warm-start",
                     placement_strategy_name(from->placement.strategy != PLACEMENT_RANGES
                                                 ? from->placement.strategy
                                                 : to->placement.strategy));
}
