#include "cli/run/local_run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/limits.h"
#include "agent/observe/run_note.h"
#include "cli/cluster_read.h"
#include "cli/node/cluster_create.h"
#include "cli/node/node.h"
#include "cli/output.h"
#include "cli/run/live_change.h"
#include "cli/run/live_plan.h"
#include "cli/run/resume_change.h"
#include "cli/run/root_acl.h"
#include "cli/run/unused_folder.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "common/cluster/bootstrap.h"

enum { CONNECTIONS_PER_TASK = 3, CONNECTIONS_OF_COMMANDS = 200 };
enum {
    DRAIN_MS = 25000,   /* Less than TimeoutStopSec in deploy/systemd. */
    PREPARE_MS = 10000, /* ZooKeeper has just answered. Signals are not handled meanwhile. */
    RESTORE_MS = 3000,
    SESSION_END_MS = 3000,    /* A session of a killed node ends so much after its timeout. */
    FULL_BYTES = 1024 * 1024, /* With less space ZooKeeper cannot write its log, and ends. */
};

void local_run_init(struct local_run *run)
{
    run->folder.lock = -1;
    run->started_ms = clock_monotonic_ms();
    run->started_wall_ms = clock_wall_ms();
    snprintf(run->listen_host, sizeof run->listen_host, "127.0.0.1");
    progress_init(&run->progress, &run->job, run->started_ms);
    if (isatty(STDERR_FILENO) == 0) { run->progress.line_ms = PROGRESS_LOG_MS; }
    result_init(&run->result, &run->job);
}

void local_run_free(struct local_run *run)
{
    port_leases_end(&run->leases);
    step_poller_close(run->steps);
    result_free(&run->result);
    free(run->columns);
    run_folder_close(&run->folder);
}

void local_run_note_step(const struct local_run *run, uint64_t step)
{
    const uint64_t wanted = run->job.train.steps;
    if (step == 0 || step < wanted) { return; }
    output_message(LOG_INFO,
                   "the run in %s already has %" PRIu64 " steps, and train.steps is %" PRIu64
                   ": there is nothing to train; --resume with a larger train.steps continues it",
                   run->folder.dir, step, wanted);
}

static void all_tasks(struct local_run *run)
{
    assert(run->task_count == 0);
    const struct task_counts counts = job_tasks(&run->job);
    for (int role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < counts.of[role]; i++) {
            run->tasks[run->task_count++] = (struct task){.role = (enum role)role, .index = i};
        }
    }
}

/* The processes that begin: workers of a range beyond its least number begin later, if at all. */
static uint32_t count_processes(const struct local_run *run)
{
    const struct job *job = &run->job;
    uint32_t count = run->own_ensemble ? job->zookeeper.servers : 0, workers = 0;
    for (uint32_t i = 0; i < (uint32_t)run->task_count; i++) {
        const bool works = run->tasks[i].role == ROLE_WORKER;
        workers += works && run->tasks[i].index < job_workers_least(job);
        count += !works;
    }
    const uint32_t each = job->cluster.workers_per_process;
    return count + (workers + each - 1) / each;
}

/* ------------------------------------------------------------- the cluster */

static bool is_cluster_of_folder(const struct local_run *run, const struct spec *spec)
{
    return run->cluster_made_ms != 0 && spec->created_wall_ms == run->cluster_made_ms;
}

/* A shared ZooKeeper may hold an earlier run of the same name whose files are not in our folder. It
 * is removed if it is done, and left alone otherwise. */
static enum tn_status remove_finished_run(const struct local_run *run, struct zk_sync *sync,
                                          struct error *error)
{
    struct spec spec = {0};
    struct run found;
    if (run->own_ensemble || run->one_of_many) { return TN_OK; }
    enum tn_status status = bootstrap_read_spec(sync, run->job.name, &spec, error);
    if (status == TN_ENOENT) { return TN_OK; }
    free(spec.job_json);
    if (status != TN_OK || is_cluster_of_folder(run, &spec)) { return status; }
    status = cluster_read_run(sync, run->job.name, &found, error);
    if (status != TN_OK) { return status; }
    if (found.phase == RUN_DONE || found.generation == 0) {
        return cluster_remove(sync, run->job.name, error);
    }
    return error_set(error, TN_EEXIST,
                     "ZooKeeper holds an unfinished run of \"%s\" (phase %s, step %" PRIu64
                     ") whose checkpoints are not in %s: give the --dir of that run, or rename the "
                     "job (--set name=...)",
                     run->job.name, run_phase_name(found.phase), found.committed_step,
                     run->folder.dir);
}

/* Continue a run that exists already, if the folder belongs to it and none of its nodes is
 * running. */
static enum tn_status continue_run(struct local_run *run, struct zk_sync *sync, struct error *error)
{
    struct run found;
    enum tn_status status = cluster_read_run(sync, run->job.name, &found, error);
    /* No node runs, so every older request is left over from a command that gave up. */
    if (status == TN_OK && !run->one_of_many) {
        status = bootstrap_clear_requests(sync, run->job.name, run->started_wall_ms, error);
    }
    if (status != TN_OK || (found.generation == 0 && !run_is_over(&found))) { return status; }
    /* Other agents may be running it. An agent that comes late to a finished run only reports
     * that. */
    if (run->one_of_many && !(run->resume && run_is_over(&found))) { return TN_OK; }
    progress_print(&run->progress, clock_monotonic_ms(),
                   "continuing the %srun in %s from checkpoint %" PRIu64 " (step %" PRIu64 ")",
                   found.phase == RUN_DONE ? "finished " : "", run->folder.dir,
                   found.committed_checkpoint, found.committed_step);
    const bool ends = run_is_over(&found) || found.committed_step > run->job.train.steps;
    if (ends) { local_run_note_step(run, found.committed_step); }
    status = bootstrap_reform(sync, run->job.name, NULL, 0, run->started_wall_ms, error);
    /* Refused: another agent did the same a moment before. */
    return status == TN_EREFUSED && run->one_of_many ? TN_OK : status;
}

enum tn_status local_run_await_no_nodes(struct local_run *run, struct zk_sync *sync,
                                        struct error *error)
{
    const uint64_t now_ms = clock_monotonic_ms();
    const uint64_t timeout_ms = run->job.zookeeper.session_timeout_ms + SESSION_END_MS;
    assert(sync != NULL);
    const enum tn_status status = cluster_check_no_nodes(sync, run->job.name, error);
    if (status != TN_EEXIST) { return status; }
    if (run->nodes_since_ms == 0) {
        run->nodes_since_ms = now_ms;
        progress_print(&run->progress, now_ms,
                       "waiting for the sessions of the former nodes to end (%" PRIu64
                       " s at most)",
                       timeout_ms / 1000);
    }
    return now_ms < run->nodes_since_ms + timeout_ms ? TN_EAGAIN : TN_EEXIST;
}

/* No node of the cluster may run. Those of the folder's former run have been killed, since this
 * process has the folder's lock. */
static enum tn_status check_former_nodes(struct local_run *run, struct zk_sync *sync,
                                         struct error *error)
{
    struct spec spec = {0};
    const enum tn_status status = cluster_check_no_nodes(sync, run->job.name, error);
    if (status != TN_EEXIST) { return status; }
    const bool ours = bootstrap_read_spec(sync, run->job.name, &spec, NULL) == TN_OK &&
                      is_cluster_of_folder(run, &spec);
    free(spec.job_json);
    return ours ? local_run_await_no_nodes(run, sync, error) : status;
}

static enum tn_status create_cluster(struct local_run *run, struct zk_sync *sync, struct spec *spec,
                                     struct error *error)
{
    enum tn_status status = TN_OK;
    if (!run->own_ensemble && !run->one_of_many) { status = check_former_nodes(run, sync, error); }
    if (status == TN_OK) { status = remove_finished_run(run, sync, error); }
    if (status == TN_OK) { status = resume_change_of_cluster(run, sync, error); }
    if (status == TN_OK) {
        status = cluster_create(sync, &run->job, &run->variables, 0, spec, error);
    }
    if (status == TN_OK) {
        status = cluster_declare(sync, &run->job, !run->own_ensemble, spec, error);
    }
    if (status == TN_OK && run->one_of_many) {
        status = cluster_check_reach(sync, run->job.name, "--host", run->listen_host, error);
    }
    if (status == TN_OK) { status = continue_run(run, sync, error); }
    /* The nodes read it, with all learning rates. */
    return status == TN_OK ? run_folder_write_job(&run->folder, &run->job, error) : status;
}

static enum tn_status write_note(const struct local_run *run, struct error *error)
{
    assert(run->ensemble.count <= ENSEMBLE_SERVERS_MAX);
    struct stat network;
    struct run_note note = {.agent_pid = (uint64_t)getpid(),
                            .cluster_made_ms = run->cluster_made_ms,
                            .server_count = run->ensemble.count};
    if (run->networks.count > 0 && stat("/proc/self/ns/net", &network) == 0) {
        note.network = network.st_ino;
    }
    snprintf(note.connect, sizeof note.connect, "%s", run->connect);
    snprintf(note.cluster, sizeof note.cluster, "%s", run->job.name);
    for (size_t i = 0; i < run->ensemble.count; i++) {
        note.server_ids[i] = run->ensemble.servers[i].id;
        memcpy(note.servers[i], run->ensemble.servers[i].address, sizeof note.servers[i]);
    }
    return run_note_write(run->folder.dir, &note, error);
}

/* Adopt the cluster as it is in ZooKeeper now. Nodes that start from now on get its key. */
static enum tn_status use_cluster(struct local_run *run, const struct spec *spec,
                                  struct error *error)
{
    enum tn_status status = TN_OK;
    if (run->cluster_made_ms != spec->created_wall_ms) {
        run->cluster_made_ms = spec->created_wall_ms;
        status = write_note(run, error);
    }
    if (run->key == spec->key || status != TN_OK) { return status; }
    run->key = spec->key;
    snprintf(run->key_variable, sizeof run->key_variable,
             CLUSTER_KEY_VARIABLE "=%" PRIx64 ":%" PRIx64, run->key, run->variables.graph_hash);
    run->environment[0] = run->key_variable;
    step_poller_close(run->steps);
    run->steps = NULL;
    status = step_poller_open(run->key, &run->steps, error);
    run->progress.steps = run->steps;
    return status;
}

static enum tn_status open_session(const struct local_run *run, uint32_t timeout_ms,
                                   struct zk_sync **sync, struct error *error)
{
    enum tn_status status =
        zk_sync_open(run->connect, text_or_null(run->credentials), timeout_ms, sync, error);
    const bool holds = run->own_ensemble && text_or_null(run->credentials) == NULL;
    if (status == TN_OK && holds) { status = root_acl_hold(*sync, error); }
    return status;
}

/* ZooKeeper answers: create the cluster, and prepare to ask the ps for their steps. */
static enum tn_status prepare(void *ctx, struct error *error)
{
    struct local_run *run = ctx;
    const struct job given = run->job; /* Another attempt begins from it. */
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    enum tn_status status = cluster_create_chroot(run->connect, run->connect_timeout_ms, error);
    if (status == TN_OK) { status = open_session(run, PREPARE_MS, &sync, error); }
    if (status == TN_OK) { status = create_cluster(run, sync, &spec, error); }
    if (status == TN_OK && run->own_ensemble) { status = root_acl_close(sync, error); }
    zk_sync_close(sync);
    free(spec.job_json);
    if (status != TN_OK) {
        run->job = given;
        return status;
    }
    return use_cluster(run, &spec, error);
}

/* ZooKeeper may have lost its data: create the cluster again. Our nodes may still run; they have
 * the same key. If another agent has created the cluster with a new key, our nodes have lost their
 * sessions and restart. */
static enum tn_status restore(void *ctx, struct error *error)
{
    struct local_run *run = ctx;
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    enum tn_status status = cluster_create_chroot(run->connect, RESTORE_MS, error);
    if (status == TN_OK) { status = open_session(run, RESTORE_MS, &sync, error); }
    if (status == TN_OK) {
        status = cluster_create(sync, &run->job, &run->variables, run->key, &spec, error);
    }
    if (status == TN_OK && run->own_ensemble) { status = root_acl_close(sync, error); }
    zk_sync_close(sync);
    free(spec.job_json);
    return status == TN_OK ? use_cluster(run, &spec, error) : status;
}

/* The connections that one server of a local ensemble must accept: each process may have a session,
 * its probe, and one that is about to close; commands and agents have the rest. */
static uint32_t connections_of(const struct job *job)
{
    const struct task_counts tasks = job_tasks(job);
    return CONNECTIONS_PER_TASK * task_counts_sum(&tasks) + CONNECTIONS_OF_COMMANDS;
}

/* The servers keep the limit that they were started with: connections_of(). */
static enum tn_status check_connections(const struct local_run *run,
                                        const struct change_request *request, struct error *error)
{
    struct job wanted = run->job;
    live_plan_job(&wanted, request);
    const uint32_t needed = connections_of(&wanted);
    if (!run->own_ensemble || needed <= run->connections + CONNECTIONS_OF_COMMANDS / 2) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "the ZooKeeper servers of this run accept %" PRIu32
                     " connections, too few for its nodes: `tanist stop`, then `tanist run "
                     "--resume` with the new numbers",
                     run->connections);
}

static enum tn_status check_change(void *ctx, const struct change_request *request,
                                   const struct run *now, char text[static CHANGE_TEXT_MAX],
                                   struct error *error)
{
    const enum tn_status status = check_connections(ctx, request, error);
    return status == TN_OK ? live_change_check(ctx, request, now, text, error) : status;
}

/* S14: no node runs. Without the job file of the changed job no node could start, and it is written
 * again with the next attempt. */
static enum tn_status apply_change(void *ctx, const struct change_request *request,
                                   uint64_t *generation, struct error *error)
{
    struct local_run *run = ctx;
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    enum tn_status status = open_session(run, RESTORE_MS, &sync, error);
    if (status == TN_OK) {
        status = live_change_write(run, sync, request, &spec, generation, error);
    }
    zk_sync_close(sync);
    free(spec.job_json);
    if (status != TN_OK) { return status; }
    status = run_folder_write_job(&run->folder, &run->job, error);
    if (status == TN_OK) { status = use_cluster(run, &spec, error); }
    if (status == TN_OK) { return TN_OK; }
    log_warn("the job is changed, but not its nodes yet, retrying: %s", error->text);
    return TN_ETIMEDOUT;
}

/* ------------------------------------------------------------- running */

static void call_hooks(struct local_run *run, const struct agent_event *event)
{
    uint64_t step;
    const struct observer *observer = event->observer;
    if (observer == NULL) { return; }
    if (event->type == AGENT_HISTORY) {
        run_hooks_note(&run->hooks, &observer->run, &observer->entry);
    }
    if (observer->run.phase == RUN_RUNNING) { run_hooks_start(&run->hooks, &observer->run); }
    if (event->type != AGENT_TICK || run->steps == NULL) { return; }
    if (step_poller_reached(run->steps, observer, &step)) {
        run_hooks_step(&run->hooks, &observer->run, step);
    }
    run_hooks_stop_cluster(&run->hooks, run->connect, text_or_null(run->credentials),
                           run->job.name);
}

static void on_event(void *ctx, const struct agent_event *event)
{
    struct local_run *run = ctx;
    assert(event->type != AGENT_HISTORY || event->observer != NULL);
    assert(event->type != AGENT_RUN || event->observer != NULL);
    if (event->type == AGENT_HISTORY) { result_note(&run->result, &event->observer->entry); }
    if (event->type == AGENT_RUN) {
        run->result.seconds = (double)(event->now_ms - run->started_ms) / 1000.0;
    }
    if (run->hooks.hooks != NULL) { call_hooks(run, event); }
    recorder_handle(&run->recorder, event, run->steps);
    progress_handle(&run->progress, event);
}

static enum tn_status prepare_ensemble(struct local_run *run, struct error *error)
{
    assert(run->own_ensemble);
    run->connections = connections_of(&run->job);
    enum tn_status status =
        ensemble_prepare(run->folder.dir, run->job.zookeeper.servers, run->connections,
                         &run->networks, &run->leases, &run->ensemble, error);
    if (status == TN_OK) {
        snprintf(run->connect, sizeof run->connect, "%s", run->ensemble.connect);
    }
    return status;
}

/* Processes may have failed because the disk is full: then report that instead. */
static enum tn_status explain(const struct local_run *run, enum tn_status status,
                              struct error *error)
{
    struct statvfs device;
    if (status != TN_EUNHEALTHY && status != TN_ECONNECT) { return status; }
    if (statvfs(run->folder.dir, &device) != 0) { return status; }
    uint64_t free_bytes = (uint64_t)device.f_bavail * device.f_frsize;
    if (free_bytes >= FULL_BYTES) { return status; }
    return error_set(error, TN_ENOSPC,
                     "the device of %s is full (%" PRIu64
                     " bytes free): free some space, then give the same command again",
                     run->folder.dir, free_bytes);
}

static enum tn_status work(struct local_run *run, struct error *error)
{
    char job_file[RUN_PATH_MAX], checkpoints[RUN_PATH_MAX];
    enum tn_status status;
    struct run_note before;
    assert(run->folder.lock >= 0);
    assert(run->own_ensemble == !*run->connect);
    if (run_note_read(run->folder.dir, &before, NULL) == TN_OK) {
        run->cluster_made_ms = before.cluster_made_ms;
    }
    if (run->task_count == 0) { all_tasks(run); }
    status = limits_check(count_processes(run), run->own_ensemble, error);
    if (status == TN_OK && run->own_ensemble) { status = prepare_ensemble(run, error); }
    if (status == TN_OK) { status = write_note(run, error); }
    run_folder_path(&run->folder, "job.json", job_file);
    run_folder_path(&run->folder, "checkpoints", checkpoints);
    if (status == TN_OK) { status = files_make_folders(checkpoints, error); }
    if (status != TN_OK) { return status; }
    const struct agent_config config = {.job = &run->job,
                                        .dir = run->folder.dir,
                                        .job_file = job_file,
                                        .connect = run->connect,
                                        .credentials = text_or_null(run->credentials),
                                        .environment = run->environment,
                                        .listen_host = run->listen_host,
                                        .networks = &run->networks,
                                        .ensemble = run->own_ensemble ? &run->ensemble : NULL,
                                        .tasks = run->tasks,
                                        .task_count = run->task_count,
                                        .many_hosts = run->one_of_many,
                                        .allow_chaos = run->allow_chaos,
                                        .log_format = run->log_format,
                                        .log_level = run->log_level,
                                        .log_bytes = run->log_bytes,
                                        .drain_ms = DRAIN_MS,
                                        .connect_timeout_ms = run->connect_timeout_ms,
                                        .prepare = prepare,
                                        .restore = restore,
                                        .check_change = run->one_of_many ? NULL : check_change,
                                        .apply_change = apply_change,
                                        .notify = on_event,
                                        .ctx = run};
    char workers[JOB_WORKERS_TEXT_MAX];
    job_workers_text(&run->job, workers);
    progress_print(&run->progress, clock_monotonic_ms(),
                   "%s: %s mode, %u coordinators, %u ps, %s workers; ZooKeeper %s; files in %s",
                   run->job.name, cluster_mode_name(&run->job), run->job.cluster.coordinators,
                   run->job.cluster.ps, workers, run->connect, run->folder.dir);
    recorder_open(&run->recorder, run->folder.dir, &run->job, &run->variables);
    if (run->folder.continued) {
        metrics_collector_change(&run->recorder.collector, &run->folder.before, &run->job);
    }
    status = explain(run, agent_run(&config, &run->agent_result, error), error);
    recorder_close(&run->recorder, run->steps);
    return status;
}

enum tn_status local_run_work(struct local_run *run, struct error *error)
{
    const enum tn_status status = work(run, error);
    /* Without the key of the cluster, no node was started. */
    if (run->key == 0) { unused_folder_clean(&run->folder); }
    return status;
}
