#include "cli/run/live_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/cluster/bootstrap.h"
#include "common/job/job_resume.h"
#include "common/job/job_workers.h"
#include "common/job/strategy.h"

static enum strategy_type wanted_type(const struct job *job, const struct change_request *request)
{
    switch (request->strategy) {
    case CHANGE_TO_PS: return STRATEGY_TYPE_PS;
    case CHANGE_TO_MIRROR: return STRATEGY_TYPE_MIRROR;
    case CHANGE_TO_GROUP: return STRATEGY_TYPE_GROUP;
    case CHANGE_BY_PS: break;
    }
    const bool keeps_base = (request->ps == 0) == (job->cluster.ps == 0);
    if (keeps_base) { return job->strategy.type; } /* Groups exist with and without ps. */
    return request->ps == 0 ? STRATEGY_TYPE_MIRROR : STRATEGY_TYPE_PS;
}

/* A strategy that needs another placement gets it; otherwise the placement stays. */
void live_plan_job(struct job *job, const struct change_request *request)
{
    job->strategy.type = wanted_type(job, request);
    job->cluster.ps = request->ps;
    job->placement.rows = request->rows;
    if (request->members > 0) { job->strategy.members = request->members; }
    if (request->workers > 0) { job->cluster.workers = request->workers; }
    if (job->strategy.type == STRATEGY_TYPE_MIRROR) {
        job->placement.strategy = PLACEMENT_RANGES;
    } else if (job->strategy.type == STRATEGY_TYPE_GROUP && job->cluster.ps > 0 &&
               job->placement.strategy == PLACEMENT_RANGES) {
        job->placement.strategy = PLACEMENT_GREEDY;
    }
}

static bool workers_differ(const struct job *a, const struct job *b)
{
    return a->cluster.workers != b->cluster.workers ||
           a->cluster.workers_least != b->cluster.workers_least;
}

void live_plan_text(const struct job *from, const struct job *to, char *text, size_t size)
{
    job_resume_text(from, to, text, size);
    if (!workers_differ(from, to)) { return; }
    const size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%scluster.workers %" PRIu32 " -> %" PRIu32,
                   used > 0 ? ", " : "", from->cluster.workers, to->cluster.workers);
}

/* `tanist stop` or an early stop ends the run before its last step. */
static bool ends_early(const struct job *job, const struct run *now)
{
    return now->ending && now->until < job->train.steps;
}

static enum tn_status check_phase(const struct job *job, const struct change_request *request,
                                  const struct run *now, struct error *error)
{
    char setting[CHANGE_SETTING_MAX];
    if (run_is_over(now) || now->phase == RUN_STOPPING || ends_early(job, now)) {
        return error_set(error, TN_EUNHEALTHY,
                         "the run ends (phase %s): make the change when it continues, with `tanist "
                         "run --resume --set %s`",
                         run_phase_name(now->phase), change_setting(request, setting));
    }
    if (now->phase == RUN_FORMING || now->generation == 0) {
        return error_set(error, TN_EUNHEALTHY,
                         "the run has not begun (phase %s): try again when it trains",
                         run_phase_name(now->phase));
    }
    if (now->phase == RUN_HELD) {
        return error_set(error, TN_EUNHEALTHY,
                         "the run is held: decide with `tanist restore` first");
    }
    if (!now->pause_requested) { return TN_OK; }
    return error_set(error, TN_EUNHEALTHY, "the run is paused: `tanist resume` it first");
}

/* A range is changed by the chief (C22). A process with several workers has them from its start on,
 * as its agent has the list of such processes. */
static enum tn_status check_workers(const struct job *job, const struct change_request *request,
                                    struct error *error)
{
    char range[JOB_WORKERS_TEXT_MAX];
    if (request->workers == 0) { return TN_OK; }
    if (job->cluster.workers_least != 0) {
        job_workers_text(job, range);
        return error_set(error, TN_EINVAL,
                         "cluster.workers is the range \"%s\": `tanist scale` changes the number "
                         "within it",
                         range);
    }
    if (job->cluster.workers_per_process == 1) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "cluster.workers_per_process is %" PRIu32
                     ", so the number of workers changes between two runs: `tanist stop`, then "
                     "`tanist run --resume --set cluster.workers=%" PRIu32 "`",
                     job->cluster.workers_per_process, request->workers);
}

static enum tn_status check_same(const struct job *job, const struct change_request *request,
                                 struct error *error)
{
    struct job wanted = *job;
    live_plan_job(&wanted, request);
    if (job_layout_differs(job, &wanted) || workers_differ(job, &wanted)) { return TN_OK; }
    if (request->workers > 0) {
        return error_set(error, TN_EINVAL,
                         "cluster.workers is %" PRIu32 " already: nothing to change",
                         request->workers);
    }
    if (request->ps == 0 || request->strategy == CHANGE_TO_GROUP) {
        return error_set(error, TN_EINVAL, "strategy.type is %s already: nothing to change",
                         job_strategy_text(job));
    }
    return error_set(error, TN_EINVAL, "cluster.ps is %" PRIu32 " already: nothing to change",
                     request->ps);
}

enum tn_status live_plan_check(const struct job *job, const struct change_request *request,
                               const struct run *now, struct error *error)
{
    assert(request->state == CHANGE_WANTED);
    enum tn_status status = check_workers(job, request, error);
    if (status == TN_OK) { status = check_same(job, request, error); }
    return status == TN_OK ? check_phase(job, request, now, error) : status;
}

/* Jobs of other programs are not in /spec. */
static bool is_made(const struct spec *spec, const struct job *wanted)
{
    struct job stored;
    job_init_existing(&stored);
    if (spec->job_json == NULL ||
        job_read_text(&stored, spec->job_json, strlen(spec->job_json), "/spec", NULL) != TN_OK) {
        return spec->ps == wanted->cluster.ps && spec->workers == wanted->cluster.workers &&
               row_borders_equal(&spec->rows, &wanted->placement.rows);
    }
    return !job_layout_differs(&stored, wanted) && !workers_differ(&stored, wanted);
}

enum live_verdict live_plan_judge(const struct live_view *view, const struct job *job,
                                  const struct job *wanted)
{
    if (is_made(&view->spec, wanted)) { return LIVE_MADE; }
    return run_is_over(&view->run) || ends_early(job, &view->run) ? LIVE_OVER : LIVE_WRITE;
}

/* The run starts again. What operators have requested since stays. */
static void reform(const struct run *now, const char *text, uint64_t wall_ms, struct run *out)
{
    *out = *now;
    bootstrap_reformed(out);
    out->pause_requested = now->pause_requested;
    if (out->recovery.kind == RECOVERY_NONE) {
        out->recovery.started_wall_ms = wall_ms;
        out->recovery.task = (struct task){.role = ROLE_COORDINATOR};
        out->recovery.step = now->committed_step;
    }
    out->recovery.kind = RECOVERY_OPERATOR;
    text_set(out->recovery.cause, sizeof out->recovery.cause, text);
}

enum tn_status live_writes_init(struct live_writes *writes, const struct live_view *view,
                                const struct job *job, const struct job *wanted,
                                uint64_t variables_hash, uint64_t wall_ms, struct error *error)
{
    char change[RUN_TEXT_MAX];
    struct run formed;
    live_plan_text(job, wanted, change, sizeof change);
    reform(&view->run, change, wall_ms, &formed);
    znode_path(writes->path, wanted->name, "run");
    const struct cluster_change made = {.before = job,
                                        .after = wanted,
                                        .variables_hash = variables_hash,
                                        .text = change,
                                        .new_key = true,
                                        .step = view->run.committed_step};
    const enum tn_status status =
        change_writes_init(&writes->changes, &view->spec, &view->run, &made, error);
    if (status != TN_OK) { return status; }
    writes->list[0] = (struct zk_write){.kind = ZK_SET,
                                        .path = writes->path,
                                        .data = writes->text,
                                        .size = run_encode(&formed, writes->text),
                                        .version = view->run_version};
    for (uint32_t i = 0; i < CHANGE_WRITES; i++) { writes->list[i + 1] = writes->changes.list[i]; }
    return TN_OK;
}

void live_writes_free(struct live_writes *writes)
{
    change_writes_free(&writes->changes);
}
