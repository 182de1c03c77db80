#include "cli/run/resume_change.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/run_record.h"
#include "cli/cluster_read.h"
#include "cli/node/cluster_create.h"
#include "cli/run/change_writes.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/cluster/bootstrap.h"
#include "common/job/job_rate.h"
#include "common/job/job_resume.h"
#include "common/job/variable_order.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

enum {
    ATTEMPTS_MAX = 3, /* Other agents may make the same change. */
};

/* ------------------------------------------------------------- the step */

/* The step of the newest checkpoint in a folder; 0: none is known. */
static uint64_t newest_step(const char *checkpoints)
{
    size_t count = 0;
    char warnings[RUN_TEXT_MAX] = "";
    struct manifest *manifests = calloc(STORE_LIST_MAX, sizeof *manifests);
    uint64_t step = 0;
    if (manifests != NULL && store_list(checkpoints, manifests, STORE_LIST_MAX, &count, warnings,
                                        sizeof warnings, NULL) == TN_OK) {
        step = count > 0 ? manifests[0].step : 0;
    }
    free(manifests);
    return step;
}

/* The step of a cluster whose ZooKeeper has lost its data, from the record in the folder. */
static uint64_t recorded_step(const struct local_run *run)
{
    char checkpoints[RUN_PATH_MAX];
    struct run_record *record = calloc(1, sizeof *record);
    uint64_t step = 0;
    if (record != NULL && run_record_read(run->folder.dir, record, NULL) == TN_OK &&
        record->has_run) {
        step = record->run.committed_step;
    }
    free(record);
    run_folder_path(&run->folder, "checkpoints", checkpoints);
    return u64_max(step, newest_step(checkpoints));
}

/* ------------------------------------------------------------- the change */

static enum tn_status change(struct local_run *run, const struct job *stored, uint64_t step,
                             struct error *error)
{
    char text[JOB_DIFFERENCE_MAX];
    enum tn_status status = job_resume_check(stored, &run->job, error);
    if (status == TN_OK && job_rate_differs(stored, &run->job)) {
        status = job_rate_change(&run->job, stored, step, error);
    }
    if (status != TN_OK) { return status; }
    job_resume_text(stored, &run->job, text, sizeof text);
    snprintf(run->change_text, sizeof run->change_text, "%.*s", RUN_TEXT_MAX - 1, text);
    run->change_step = step;
    return TN_OK;
}

static enum tn_status refuse(const struct local_run *run, const struct job *stored,
                             struct error *error)
{
    char difference[JOB_DIFFERENCE_MAX] = "";
    (void)job_difference(stored, &run->job, difference);
    if (!run->resume) {
        return error_set(error, TN_EINVAL,
                         "the cluster \"%s\" was created for another job: %s; give the same value, "
                         "or --resume to change it from the last checkpoint on",
                         run->job.name, difference);
    }
    return error_set(error, TN_EEXIST,
                     "the run of the cluster \"%s\" has not ended: %s; give the same value, or end "
                     "it with `tanist stop` first",
                     run->job.name, difference);
}

/* ------------------------------------------------------------- a cluster */

/* Write the changed job, and /run as it was read or to be continued. */
static enum tn_status write_change(const struct local_run *run, struct zk_sync *sync,
                                   const struct spec *spec, const struct job *stored,
                                   const struct run *now, struct error *error)
{
    struct change_writes writes;
    const struct cluster_change made = {.before = stored,
                                        .after = &run->job,
                                        .variables_hash = variable_table_hash(&run->variables),
                                        .text = run->change_text,
                                        .step = run->change_step};
    enum tn_status status = change_writes_init(&writes, spec, now, &made, error);
    if (status == TN_OK) {
        status = bootstrap_reform(sync, run->job.name, writes.list, CHANGE_WRITES,
                                  run->started_wall_ms, error);
    }
    change_writes_free(&writes);
    return status;
}

/* Whether another agent has made the change after /spec was read: then an error about the change is
 * not true. */
static bool is_outdated(const struct local_run *run, struct zk_sync *sync, const struct spec *spec)
{
    struct spec now = {0};
    const enum tn_status status = bootstrap_read_spec(sync, run->job.name, &now, NULL);
    const bool differs = status == TN_OK && now.version != spec->version;
    free(now.job_json);
    return differs;
}

static enum tn_status change_cluster(struct local_run *run, struct zk_sync *sync,
                                     const struct spec *spec, const struct job *stored,
                                     struct error *error)
{
    struct run now;
    enum tn_status status = cluster_read_run(sync, run->job.name, &now, error);
    if (status != TN_OK) { return status; }
    if (!run->resume || (run->one_of_many && !run_is_over(&now))) {
        return refuse(run, stored, error);
    }
    if (run->one_of_many && job_layout_differs(stored, &run->job)) {
        status = local_run_await_no_nodes(run, sync, error);
    }
    if (status == TN_OK) { status = change(run, stored, now.committed_step, error); }
    if (status == TN_OK) { status = write_change(run, sync, spec, stored, &now, error); }
    if (status != TN_OK) { return status; }
    progress_print(&run->progress, clock_monotonic_ms(), "changed from step %" PRIu64 " on: %s",
                   run->change_step, run->change_text);
    return TN_OK;
}

/* TN_EINVAL: the cluster has the variables of another model. */
static enum tn_status check_variables(const struct local_run *run, const struct spec *spec,
                                      struct error *error)
{
    uint32_t moves;
    struct manifest *former = calloc(1, sizeof *former);
    if (former == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a manifest"); }
    former->variables_hash = spec->variables_hash;
    former->parameter_count = run->variables.parameter_count;
    former->shard_count = u32_max(spec->ps, 1);
    const enum tn_status status =
        variable_order_of(former, &run->job, &run->variables, NULL, &moves, error);
    free(former);
    return status;
}

/* TN_EREFUSED: another agent has changed the cluster at the same time. */
static enum tn_status follow_cluster(struct local_run *run, struct zk_sync *sync,
                                     const struct spec *spec, struct error *error)
{
    struct job stored;
    job_init_existing(&stored);
    /* cluster_create() reports other differences. */
    if (spec->job_json == NULL ||
        job_read_text(&stored, spec->job_json, strlen(spec->job_json), "/spec", NULL) != TN_OK) {
        return TN_OK;
    }
    job_resume_adopt(&run->job, &stored);
    if (!job_resume_allows(&stored, &run->job)) { return TN_OK; }
    const enum tn_status status = check_variables(run, spec, error);
    if (status != TN_OK) { return status == TN_EINVAL ? TN_OK : status; }
    return change_cluster(run, sync, spec, &stored, error);
}

enum tn_status resume_change_of_cluster(struct local_run *run, struct zk_sync *sync,
                                        struct error *error)
{
    enum tn_status status = TN_EREFUSED;
    const struct job given = run->job;
    assert(run->folder.lock >= 0);
    for (int i = 0; i < ATTEMPTS_MAX && status == TN_EREFUSED; i++) {
        struct spec spec = {0};
        run->job = given;
        run->change_text[0] = '\0';
        status = bootstrap_read_spec(sync, run->job.name, &spec, error);
        if (status == TN_OK) { status = follow_cluster(run, sync, &spec, error); }
        const bool refused = status == TN_EINVAL || status == TN_EEXIST;
        if (refused && run->one_of_many && is_outdated(run, sync, &spec)) { status = TN_EREFUSED; }
        free(spec.job_json);
    }
    if (status != TN_ENOENT) { return status; }
    if (!run->folder.job_changes) { return TN_OK; }
    return change(run, &run->folder.before, recorded_step(run), error);
}

/* ------------------------------------------------------------- one process */

enum tn_status resume_change_of_process(struct local_run *run, const char *checkpoints,
                                        struct error *error)
{
    if (!run->folder.job_changes) { return TN_OK; }
    enum tn_status status = change(run, &run->folder.before, newest_step(checkpoints), error);
    return status == TN_OK ? run_folder_write_job(&run->folder, &run->job, error) : status;
}
