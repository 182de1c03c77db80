#include "cli/run/live_change.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/cluster_read.h"
#include "cli/node/cluster_create.h"
#include "cli/plan/memory_check.h"
#include "cli/plan/validate.h"
#include "cli/run/live_plan.h"
#include "common/base/clock.h"
#include "common/cluster/bootstrap.h"
#include "common/job/job_resume.h"
#include "common/job/strategy.h"
#include "model/model.h"

/* The job that is requested. */
struct wanted {
    struct job job;
    struct variable_table variables;
};

/* TN_ENOMEM, or the error of the model. The caller frees `*out`, also after an error. */
static enum tn_status make_wanted(const struct local_run *run, const struct change_request *request,
                                  struct wanted **out, struct error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    (*out)->job = run->job;
    live_plan_job(&(*out)->job, request);
    enum tn_status status = job_check(&(*out)->job, error);
    if (status == TN_EINVAL) {
        return error_context(error, "the changed job would not be valid (`tanist stop` and then "
                                    "`tanist run --resume` can change further keys)");
    }
    if (status == TN_OK) { status = job_resume_check(&run->job, &(*out)->job, error); }
    return status == TN_OK ? model_describe(&(*out)->job, &(*out)->variables, error) : status;
}

/* -------------------------------------------------------------- the check */

/* The other checks of `tanist run` before it starts the job. */
static enum tn_status check_wanted(const struct local_run *run, struct wanted *wanted,
                                   struct error *error)
{
    enum tn_status status =
        variable_table_check_ps(&wanted->variables, strategy_shards(&wanted->job), error);
    if (status == TN_OK) { status = validate_placement(&wanted->job, &wanted->variables, error); }
    if (status != TN_OK) { return status; }
    return memory_plan_check(&wanted->job, &wanted->variables, &run->memory_data,
                             memory_of_machine(), error);
}

enum tn_status live_change_check(const struct local_run *run, const struct change_request *request,
                                 const struct run *now, char text[static CHANGE_TEXT_MAX],
                                 struct error *error)
{
    enum tn_status status = live_plan_check(&run->job, request, now, error);
    if (status != TN_OK) { return status; }
    if (run->networks.count > 0 && request->ps > run->job.cluster.ps) {
        return error_set(error, TN_EINVAL,
                         "the tasks of this run have networks of their own (--networks), and a new "
                         "ps has none: give at most cluster.ps %" PRIu32,
                         run->job.cluster.ps);
    }
    if (run->networks.count > 0 && request->workers > run->job.cluster.workers) {
        return error_set(error, TN_EINVAL,
                         "the tasks of this run have networks of their own (--networks), and a new "
                         "worker has none: give at most workers=%" PRIu32,
                         run->job.cluster.workers);
    }
    struct wanted *wanted = NULL;
    status = make_wanted(run, request, &wanted, error);
    if (status == TN_OK) { status = check_wanted(run, wanted, error); }
    if (status == TN_OK) { live_plan_text(&run->job, &wanted->job, text, CHANGE_TEXT_MAX); }
    free(wanted);
    return status;
}

/* ------------------------------------------------------------- the change */

static enum tn_status read_run(struct zk_sync *sync, const char *cluster, struct live_view *view,
                               struct error *error)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_data data;
    znode_path(path, cluster, "run");
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    status = run_decode(data.data, data.size, &view->run, error);
    view->run_version = data.stat.version;
    free(data.data);
    return status;
}

/* /run, /spec and the entry of the history: all or nothing. */
static enum tn_status write_all(const struct local_run *run, struct zk_sync *sync,
                                struct live_view *view, const struct wanted *wanted,
                                struct error *error)
{
    struct live_writes writes;
    enum tn_status status =
        live_writes_init(&writes, view, &run->job, &wanted->job,
                         variable_table_hash(&wanted->variables), clock_wall_ms(), error);
    if (status == TN_OK) { status = zk_sync_write(sync, writes.list, LIVE_WRITES, error); }
    if (status == TN_OK) {
        free(view->spec.job_json);
        view->spec = writes.changes.changed;
        writes.changes.changed.job_json = NULL;
    }
    live_writes_free(&writes);
    return status;
}

static enum tn_status write_once(const struct local_run *run, struct zk_sync *sync,
                                 struct live_view *view, const struct wanted *wanted,
                                 struct error *error)
{
    const char *cluster = run->job.name;
    enum tn_status status = bootstrap_read_spec(sync, cluster, &view->spec, error);
    if (status == TN_OK) { status = read_run(sync, cluster, view, error); }
    if (status != TN_OK) { return status; }
    switch (live_plan_judge(view, &run->job, &wanted->job)) {
    case LIVE_MADE: return TN_OK;
    case LIVE_OVER: return error_set(error, TN_EUNHEALTHY, "the run ends: nothing was changed");
    case LIVE_WRITE: break;
    }
    status = cluster_check_no_nodes(sync, cluster, error);
    return status == TN_OK ? write_all(run, sync, view, wanted, error) : status;
}

enum tn_status live_change_write(struct local_run *run, struct zk_sync *sync,
                                 const struct change_request *request, struct spec *spec,
                                 uint64_t *generation, struct error *error)
{
    struct wanted *wanted = NULL;
    struct live_view view = {.run_version = 0};
    enum tn_status status = make_wanted(run, request, &wanted, error);
    if (status == TN_OK) { status = write_once(run, sync, &view, wanted, error); }
    *spec = view.spec;
    *generation = view.run.generation;
    if (status == TN_OK) {
        metrics_collector_change(&run->recorder.collector, &run->job, &wanted->job);
        run->job = wanted->job;
        run->variables = wanted->variables;
    }
    free(wanted);
    return status;
}
