#include "cli/inspect/status_view.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/ensemble/ensemble.h"
#include "agent/observe/step_poller.h"
#include "cli/cluster_read.h"
#include "cli/inspect/recorded.h"
#include "cli/run_folder.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/job/strategy.h"

enum { PROBE_MS = 500, STEPS_MS = 300, POLL_MS = 2 };

/* ------------------------------------------------------------- reading */

/* A znode that does not exist is not an error. `*found`: it exists. */
static enum tn_status if_found(enum tn_status status, bool *found)
{
    *found = status == TN_OK;
    return status == TN_ENOENT ? TN_OK : status;
}

/* The tasks of the job, all missing. */
static void list_tasks(struct status_view *view, const uint32_t counts[static ROLE_COUNT])
{
    assert(view->count == 0);
    for (int role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < counts[role] && view->count < TASKS_MAX; i++) {
            view->tasks[view->count++].task = (struct task){.role = (enum role)role, .index = i};
        }
    }
}

static enum tn_status read_tasks(struct zk_sync *sync, struct status_view *view,
                                 struct error *error)
{
    enum tn_status status = TN_OK;
    const struct spec *spec = &view->spec;
    list_tasks(view, (const uint32_t[ROLE_COUNT]){spec->coordinators, spec->ps, spec->workers,
                                                  spec->evaluators});
    for (uint32_t i = 0; status == TN_OK && i < view->count; i++) {
        struct status_task *state = &view->tasks[i];
        status = if_found(
            cluster_read_member(sync, view->target.cluster, state->task, &state->member, error),
            &state->present);
    }
    return status;
}

static void read_slices(struct zk_sync *sync, struct status_view *view)
{
    uint32_t owned[WORKERS_MAX];
    bool late[WORKERS_MAX];
    if (cluster_read_slices(sync, view->target.cluster, owned, late, NULL) != TN_OK) { return; }
    for (struct status_task *state = view->tasks; state < view->tasks + view->count; state++) {
        state->has_slices = state->task.role == ROLE_WORKER;
        if (!state->has_slices) { continue; }
        state->slices = owned[state->task.index];
        state->late = late[state->task.index];
    }
}

static bool all_settled(struct step_poller *steps, const struct status_view *view)
{
    uint32_t present = 0;
    const enum role holders = role_of_holders(view->spec.ps);
    assert(steps != NULL);
    for (uint32_t i = 0; i < view->count; i++) {
        present += view->tasks[i].task.role == holders && view->tasks[i].present;
    }
    const uint32_t count = view->spec.ps > 0 ? view->spec.ps : view->spec.workers;
    return step_poller_settled(steps, count) >= present &&
           (view->spec.ps == 0 || step_poller_settled_tables(steps, count) >= present);
}

/* Ask all ps at once for their steps and tables, and wait STEPS_MS at most for all answers. The
 * step of the cluster is the least of them; if no ps answers, it does not change. */
static void ask_steps(struct status_view *view)
{
    struct step_poller *steps = NULL;
    const enum role holders = role_of_holders(view->spec.ps);
    if (step_poller_open(view->spec.key, &steps, NULL) != TN_OK) { return; }
    for (uint32_t i = 0; i < view->count; i++) {
        if (view->tasks[i].task.role == holders && view->tasks[i].present) {
            step_poller_ask(steps, view->tasks[i].task.index, view->tasks[i].member.address,
                            view->tasks[i].member.incarnation);
        }
    }
    if (view->spec.ps > 0) { step_poller_ask_tables(steps); }
    uint64_t until_ms = clock_monotonic_ms() + STEPS_MS;
    while (!all_settled(steps, view) && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
    }
    uint64_t least = UINT64_MAX, generation = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        struct status_task *state = &view->tasks[i];
        if (state->task.role != holders) { continue; }
        state->has_step = step_poller_get(steps, state->task.index, &generation, &state->step);
        step_poller_lanes(steps, state->task.index, &state->by_shm, &state->by_tcp);
        /* A ps that has not loaded its shard has made no step of this generation. */
        if (state->has_step && generation == view->run.generation) {
            const bool is_ps = holders == ROLE_PS; /* Else one holder is enough. */
            least = is_ps || least == UINT64_MAX ? u64_min(least, state->step)
                                                 : u64_max(least, state->step);
        }
    }
    table_totals_read(&view->tables, steps, view->spec.ps, view->run.generation);
    step_poller_close(steps);
    if (least != UINT64_MAX) { view->step = least; }
}

enum tn_status status_view_read(struct status_view *view, struct error *error)
{
    struct zk_sync *sync = NULL;
    const char *cluster = view->target.cluster;
    enum tn_status status = target_open(&view->target, &sync, &view->spec, &view->job, error);
    if (status != TN_OK) { return status; }
    status = if_found(cluster_read_run(sync, cluster, &view->run, error), &view->has_run);
    if (status == TN_OK) {
        status = if_found(cluster_read_chief(sync, cluster, &view->chief, error), &view->has_chief);
    }
    if (status == TN_OK) { status = read_tasks(sync, view, error); }
    if (status == TN_OK) { read_slices(sync, view); }
    if (status == TN_OK) {
        held_shards_read(&view->held, sync, cluster, &view->run, view->spec.ps, &view->spec.rows);
    }
    if (status == TN_OK) { status = spare_hosts_read(&view->spares, sync, cluster, error); }
    zk_sync_close(sync);
    if (status != TN_OK) { return status; }
    if (view->has_run) { view->step = cluster_recorded_step(&view->run); }
    ask_steps(view);
    return TN_OK;
}

enum tn_status status_view_record(struct status_view *view, const struct target_options *given,
                                  enum tn_status status, struct error *error)
{
    char path[RUN_PATH_MAX];
    struct run_record *record = calloc(1, sizeof *record);
    if (record == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    status = recorded_read(given, status, record, error);
    if (status == TN_OK) {
        snprintf(path, sizeof path, "%s/job.json", given->dir);
        job_init(&view->job);
        status = job_read_file(&view->job, path, error);
    }
    if (status == TN_OK) {
        view->recorded_wall_ms = record->wall_ms;
        view->has_run = record->has_run;
        view->run = record->run;
        view->held = (struct held_shards){.run = &view->run}; /* Their places are unknown. */
        view->has_chief = record->has_chief;
        view->chief = record->chief;
        view->step = record->step;
        view->count = 0;
        const struct job *job = &view->job;
        const uint32_t counts[ROLE_COUNT] = {job->cluster.coordinators, job->cluster.ps,
                                             job->cluster.workers, job->cluster.evaluators};
        if (!run_folder_is_local(given->dir)) { list_tasks(view, counts); }
        snprintf(view->target.cluster, sizeof view->target.cluster, "%s", view->job.name);
    }
    for (uint32_t i = 0; status == TN_OK && i < record->member_count; i++) {
        for (uint32_t j = 0; j < view->count; j++) {
            if (!task_equal(view->tasks[j].task, record->members[i].task)) { continue; }
            view->tasks[j].present = true;
            view->tasks[j].member = record->members[i];
        }
    }
    free(record);
    return status;
}

/* --------------------------------------------------------------- names */

const char *status_phase(const struct status_view *view)
{
    return run_phase_name(view->has_run ? view->run.phase : RUN_FORMING);
}

static bool is_chief(const struct status_view *view, const struct status_task *state)
{
    return view->has_chief && state->present && task_equal(view->chief.task, state->task) &&
           view->chief.incarnation == state->member.incarnation;
}

const char *status_task_state(const struct status_view *view, const struct status_task *state)
{
    const bool unwanted = state->task.role == ROLE_WORKER && view->has_run &&
                          !run_wants_worker(&view->run, state->task.index);
    if (unwanted) { return state->present ? "leaving" : "off"; }
    if (!state->present) { return "missing"; }
    if (state->task.role != ROLE_COORDINATOR) { return state->late ? "late" : "up"; }
    return is_chief(view, state) ? "chief" : "candidate";
}

uint32_t status_task_gpus(const struct status_view *view, const struct status_task *state)
{
    if (state->task.role == ROLE_PS) { return job_ps_has_gpu(&view->job) ? 1 : 0; }
    const bool has_gpus = state->task.role == ROLE_WORKER && job_has_gpus(&view->job);
    return has_gpus ? view->job.train.gpus : 0;
}

uint32_t status_task_threads(const struct status_view *view, const struct status_task *state)
{
    const uint32_t threads = job_worker_threads(&view->job);
    return state->task.role == ROLE_WORKER && threads > 1 ? threads : 0;
}

uint64_t status_epoch(const struct status_view *view)
{
    return view->has_chief ? view->chief.epoch : view->run.epoch;
}

bool status_has_chief(const struct status_view *view)
{
    for (uint32_t i = 0; i < view->count; i++) {
        if (is_chief(view, &view->tasks[i])) { return true; }
    }
    return false;
}

const char *status_server_mode(const struct target_server *server)
{
    return ensemble_probe_text(server->address, PROBE_MS);
}
