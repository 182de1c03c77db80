#include "mirror/mirror_worker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/job/strategy.h"
#include "mirror/departure.h"
#include "mirror/mirror_private.h"
#include "worker/refusal.h"

void mirror_feed(struct mirror_worker *worker, struct replica_event event, struct brought with)
{
    event.now_ms = worker->now_ms;
    while (!worker->finished) {
        replica_handle(&worker->core, &event, &worker->actions);
        for (uint32_t i = 0; i < worker->actions.count && !worker->finished; i++) {
            mirror_carry_out(worker, &worker->actions.items[i], &event, &with);
        }
        mirror_release_brought(&with);
        if (worker->follow_up_count == 0) { return; }
        event = worker->follow_ups[0];
        event.now_ms = worker->now_ms;
        worker->follow_up_count--;
        memmove(&worker->follow_ups[0], &worker->follow_ups[1],
                worker->follow_up_count * sizeof worker->follow_ups[0]);
    }
    mirror_release_brought(&with);
}

static void feed(struct mirror_worker *worker, struct replica_event event)
{
    mirror_feed(worker, event, (struct brought){.body = NULL});
}

/* --------------------------------------------------------------- ZooKeeper */

static void zookeeper(struct mirror_worker *worker, const struct zk_event *event)
{
    struct worker_watch *watch = &worker->watch;
    switch (worker_watch_handle(watch, event, worker->now_ms)) {
    case WORKER_WATCH_NOTHING:
    case WORKER_WATCH_WORKER: break;
    case WORKER_WATCH_RESTARTED:
        feed(worker, (struct replica_event){.type = REPLICA_EV_LINK_DOWN, .peer = watch->peer});
        break;
    case WORKER_WATCH_ASSIGNED:
        feed(worker, (struct replica_event){.type = REPLICA_EV_ASSIGNMENT,
                                            .assignment = &watch->assignment});
        break;
    }
}

/* ------------------------------------------------------------- checkpoints */

static void follow_run(struct mirror_worker *worker)
{
    const struct run *run = &worker->membership.run;
    uint16_t writers[RANGES_MAX];
    if (!worker->membership.has_run || !worker->checkpoints.listed || worker->finished) { return; }
    if (!run_is_over(run) &&
        refusal_log(worker->config.job, &run->inputs, &worker->config.inputs)) {
        mirror_finish(worker, TN_EXIT_INVALID_INPUT);
        return;
    }
    if (run->generation != worker->core.generation) {
        worker->evaluation = (struct evaluation){.step = STEP_NONE};
        compute_reset(&worker->compute);
        tensors_clear(&worker->tensors);
    }
    for (uint32_t r = 0; r < RANGES_MAX; r++) { writers[r] = run->save_writer; }
    checkpoint_client_follow(&worker->checkpoints, run);
    feed(worker, (struct replica_event){.type = REPLICA_EV_RUN, .run = run, .writers = writers});
    if (!worker->core.whole && worker->shard.current[0] != NULL) { shard_forget(&worker->shard); }
    if (run_is_over(run) && worker->leave_at_ms == UINT64_MAX) {
        worker->leave_at_ms = worker->now_ms + MIRROR_LEAVE_MS;
    }
}

static void on_checkpoint(struct mirror_worker *worker, enum checkpoint_event type)
{
    switch (type) {
    case CHECKPOINT_NO_EVENT: return;
    case CHECKPOINT_LISTED: follow_run(worker); return;
    case CHECKPOINT_LOADED: mirror_loaded(worker, true); return;
    case CHECKPOINT_LOAD_FAILED: mirror_loaded(worker, false); return;
    case CHECKPOINT_SAVED: return; /* The report has it. */
    case CHECKPOINT_SAVE_FAILED:
        worker->missed_checkpoint =
            u64_max(worker->missed_checkpoint, worker->checkpoints.event_checkpoint);
        return;
    }
}

/* ----------------------------------------------------------------- waiting */

static uint64_t wait_log_due_ms(const struct mirror_worker *worker)
{
    uint32_t range, peer;
    if (!replica_waits_for(&worker->core, &range, &peer)) { return UINT64_MAX; }
    return u64_max(worker->core.progress_ms, worker->wait_logged_at_ms) + MIRROR_WAIT_LOG_MS;
}

static void log_wait(struct mirror_worker *worker)
{
    uint32_t range, peer;
    if (worker->now_ms < wait_log_due_ms(worker)) { return; }
    (void)replica_waits_for(&worker->core, &range, &peer);
    char name[TASK_NAME_MAX] = "no worker";
    if (peer != REPLICA_NONE) {
        task_format((struct task){.role = ROLE_WORKER, .index = peer}, ':', name, sizeof name);
    }
    log_info("waiting for %s (%s) for %" PRIu64 " s: the sum of range %" PRIu32 " at step=%" PRIu64
             " generation=%" PRIu64,
             name,
             peer == worker->core.config.index ? "itself"
             : peer == REPLICA_NONE            ? "the range has no owner"
             : worker->links.items[peer].open  ? "connected"
                                               : "not connected",
             (worker->now_ms - worker->core.progress_ms) / 1000, range, worker->core.step,
             worker->core.generation);
    worker->wait_logged_at_ms = worker->now_ms;
}

/* ----------------------------------------------------------------- reactor */

static bool owns_slices(const struct mirror_worker *worker)
{
    return !worker->watch.is_following || slice_set_count(&worker->core.owned) > 0;
}

/* C24: once it owns no slices, it gets further steps from others alone. */
static uint64_t leaving_of(const struct mirror_worker *worker)
{
    if (worker->drain_until_ms == 0) { return 0; }
    return owns_slices(worker) ? LEAVING : LEAVING_WITHOUT_SLICES;
}

static void report(struct mirror_worker *worker)
{
    const struct replica *core = &worker->core;
    const struct checkpoint_client *checkpoints = &worker->checkpoints;
    if (!worker->membership.has_run) { return; }
    if (!checkpoint_client_ready(&worker->checkpoints, &worker->membership.run)) { return; }
    struct report report = {
        .order_epoch = core->epoch,
        .order_revision = core->revision,
        .generation = core->whole ? core->generation : 0,
        .step = core->whole ? core->step : 0,
        .ready = mirror_group_is_worker(worker),
        .slice_ns = worker->timer.reported_ns,
        .gate = replica_gate(core),
        .leaving = leaving_of(worker),
        .missed_checkpoint = worker->missed_checkpoint,
        .late_checkpoint = worker->late_checkpoint,
        .failed_load = worker->failed_load,
        .failed_load_generation = worker->failed_load_generation,
        .failed_load_missing = worker->failed_load_missing,
        .loading_generation = checkpoints->load.checkpoint != 0 ? worker->load.generation : 0,
        .waits_for_checkpoint = replica_waits_for_checkpoint(core),
        .evaluation = worker->evaluation,
        .inputs = worker->config.inputs,
    };
    report.late_periods = replica_late(core, worker->now_ms, &report.late, &report.late_after_ms);
    if (checkpoints->saved_checkpoint != 0) {
        report.saved_checkpoint = checkpoints->saved_checkpoint;
        report.saved_step = worker->saved_step;
    }
    checkpoint_client_report(checkpoints, &report);
    memcpy(report.place, worker->place, sizeof report.place);
    membership_report(&worker->membership, &report);
}

static void hurry_save(struct mirror_worker *worker)
{
    const struct run *run = &worker->membership.run;
    const struct replica *core = &worker->core;
    const uint64_t every = worker->config.job->checkpoint.every_steps;
    if (!worker->membership.has_run) { return; }
    if (worker->drain_until_ms != 0 || run_hurries_save(run, core->generation, core->step, every)) {
        checkpoint_client_hurry(&worker->checkpoints);
    }
}

static void leave_if_over(struct mirror_worker *worker)
{
    if (worker->leave_at_ms == UINT64_MAX || worker->finished) { return; }
    const bool is_observed =
        losses_observer_waits(&worker->observer, worker->core.step, worker->now_ms);
    if (is_observed && worker->now_ms < worker->leave_at_ms) { return; }
    if (!checkpoint_client_idle(&worker->checkpoints)) {
        if (worker->now_ms < worker->leave_at_ms) { return; }
        log_warn("leaving before the manifest of the last checkpoint was copied");
    }
    mirror_finish(worker, worker->membership.run.phase == RUN_FAILED ? TN_EXIT_ERROR : TN_EXIT_OK);
}

static struct departure departure_of(const struct mirror_worker *worker)
{
    const bool has_run = worker->membership.has_run;
    const struct replica *core = &worker->core;
    assert(worker->drain_until_ms >= NODE_DRAIN_MS);
    return (struct departure){
        .incarnation = worker->config.identity.incarnation,
        .run = has_run ? &worker->membership.run : NULL,
        .holds = core->whole,
        .owns = owns_slices(worker),
        .saves = has_run && !checkpoint_client_idle(&worker->checkpoints),
        .asked_ms = worker->drain_until_ms - NODE_DRAIN_MS,
    };
}

static void leave_if_drained(struct mirror_worker *worker)
{
    if (worker->drain_until_ms == 0 || worker->finished) { return; }
    const struct departure departure = departure_of(worker);
    if (departure_may_go(&departure, worker->now_ms)) { mirror_finish(worker, TN_EXIT_OK); }
}

static void tick(struct mirror_worker *worker, enum node_event_type type)
{
    const bool is_next = turns_end(&worker->turns, type == NODE_TICK);
    worker_watch_tick(&worker->watch, worker->now_ms);
    if (worker->core.computing && worker->group == NULL && is_next) {
        feed(worker, (struct replica_event){.type = REPLICA_EV_COMPUTED,
                                            .evaluation_ms = mirror_evaluation_ms(worker)});
    }
    if (worker->now_ms >= replica_deadline_ms(&worker->core)) {
        feed(worker, (struct replica_event){.type = REPLICA_EV_TICK});
    }
    mirror_group_proceed(worker);
    links_tick(&worker->links, worker->now_ms);
    log_wait(worker);
}

static void handle(void *self, const struct node_event *event)
{
    struct mirror_worker *worker = self;
    assert(!worker->finished);
    assert(event->now_ms >= worker->now_ms);
    worker->now_ms = event->now_ms;
    const unsigned changes = membership_handle(&worker->membership, event);
    if ((changes & MEMBERSHIP_ENDED) != 0) { mirror_finish(worker, worker->membership.exit_code); }
    on_checkpoint(worker, checkpoint_client_tick(&worker->checkpoints, event->now_ms));
    switch (event->type) {
    case NODE_START: checkpoint_client_start(&worker->checkpoints, event->now_ms); break;
    case NODE_TICK: break;
    case NODE_ZK:
        zookeeper(worker, event->zk);
        on_checkpoint(worker, checkpoint_client_handle_zk(&worker->checkpoints, event->zk));
        break;
    case NODE_TRANSPORT: mirror_transport(worker, event->transport); break;
    case NODE_ROLE:
        on_checkpoint(worker, checkpoint_client_handle_store(&worker->checkpoints, event->role));
        break;
    case NODE_LEAVE: mirror_finish(worker, TN_EXIT_OK); break;
    case NODE_DRAIN: worker->drain_until_ms = event->now_ms + NODE_DRAIN_MS; break;
    }
    if ((changes & MEMBERSHIP_RUN) != 0) { follow_run(worker); }
    if (worker->finished) { return; }
    tick(worker, event->type);
    hurry_save(worker);
    if (!worker->finished) { report(worker); }
    leave_if_over(worker);
    leave_if_drained(worker);
}

static uint64_t deadline_ms(const void *self)
{
    const struct mirror_worker *worker = self;
    if (worker->core.computing && worker->group == NULL) { return worker->now_ms; }
    uint64_t first = u64_min(membership_deadline_ms(&worker->membership),
                             checkpoint_client_deadline_ms(&worker->checkpoints));
    first = u64_min(first, replica_deadline_ms(&worker->core));
    first = u64_min(first, links_deadline_ms(&worker->links));
    first = u64_min(first, mirror_group_deadline_ms(worker));
    first = u64_min(first, wait_log_due_ms(worker));
    first = u64_min(first, worker->leave_at_ms);
    if (worker->drain_until_ms != 0) {
        const struct departure departure = departure_of(worker);
        first = u64_min(first, departure_deadline_ms(&departure));
    }
    return u64_min(first, worker_watch_deadline_ms(&worker->watch));
}

static bool is_finished(const void *self, int *exit_code)
{
    const struct mirror_worker *worker = self;
    *exit_code = worker->exit_code;
    return worker->finished;
}

struct node mirror_worker_node(struct mirror_worker *worker)
{
    return (struct node){worker, handle, deadline_ms, is_finished};
}

/* ---------------------------------------------------------- create, destroy */

static enum tn_status open_arrays(struct mirror_worker *worker, const struct mirror_config *config,
                                  struct error *error)
{
    const struct job *job = worker->config.job;
    const struct variable_table *variables = &worker->config.model->table;
    const struct shard_config shard = {
        .kernels = worker->config.kernels,
        .optimizer = optimizer_of_job(job, variables),
        .chunk_bytes = worker->ports.transport.chunk_bytes,
        .pool = worker->ports.buffers,
        .count = variables->parameter_count,
        .slices = job->train.slices,
        .no_answers = true,
    };
    enum tn_status status = shard_open(&worker->shard, &shard, error);
    if (status != TN_OK) { return status; }
    const struct checkpoint_client_config checkpoints = {
        .store = config->store,
        .membership = &worker->membership,
        .ports = &worker->ports,
        .shard = &worker->shard,
        .rows = &worker->rows,
        .job = job,
        .variables = variables,
        .variables_hash = variable_table_hash(variables),
        .graph_hash = variables->graph_hash,
        .parameters = variables->parameter_count,
        .shards = 1,
        .keep = job->checkpoint.keep,
        .interval_ms = job->checkpoint.every_seconds * 1000,
    };
    return checkpoint_client_open(&worker->checkpoints, &checkpoints, error);
}

static enum tn_status open_parts(struct mirror_worker *worker, const struct mirror_config *config,
                                 struct error *error)
{
    const struct worker_config *own = &worker->config;
    const struct compute_config compute = {
        .job = own->job,
        .model = own->model,
        .programs = own->programs,
        .kernels = own->kernels,
        .train = own->train,
        .test = own->test,
        .pool = worker->ports.buffers,
        .gpus = own->job->train.gpus,
        .first_gpu = own->identity.task.index * own->job->train.gpus,
        .threads = job_worker_threads(own->job),
        .evaluates_only = strategy_members(own->job) > 1,
        .details = own->details,
    };
    const uint64_t parameters = own->model->table.parameter_count;
    const uint32_t ranges = ranges_count(own->job->cluster.workers, parameters);
    enum tn_status status = compute_open(&worker->compute, &compute, error);
    if (status == TN_OK) { status = open_arrays(worker, config, error); }
    if (status == TN_OK) {
        status = tensors_open(&worker->tensors, own->kernels, worker->ports.buffers, ranges,
                              own->job->train.slices, parameters, error);
    }
    worker->shape = (struct frame_codec_shape){
        .ranges = ranges,
        .slices = own->job->train.slices,
        .arrays = worker->shard.arrays,
        .parameters = parameters,
        .places = worker->tensors.places,
    };
    return status == TN_OK ? mirror_group_open(worker, error) : status;
}

enum tn_status mirror_worker_create(const struct mirror_config *config, struct mirror_worker **out,
                                    struct error *error)
{
    *out = NULL;
    const struct job *job = config->worker.job;
    static_assert((int)KEEP_SUMS_MAX <= (int)REPLICA_KEEP_MAX, "a replica keeps as many");
    assert(config->worker.identity.task.role == ROLE_WORKER);
    assert(strategy_of_job(job)->kind == STRATEGY_MIRROR);
    struct mirror_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a worker"); }
    worker->config = config->worker;
    worker->ports = *config->worker.ports;
    worker->evaluation.step = STEP_NONE;
    worker->leave_at_ms = UINT64_MAX;
    (void)snprintf(worker->place, sizeof worker->place, "%s", config->place);
    membership_init(&worker->membership, &config->worker.identity, &worker->ports);
    links_init(&worker->links, job->cluster.workers, &worker->ports.transport);
    worker_watch_init(&worker->watch, ROLE_WORKER, job->train.slices, &worker->links,
                      &worker->membership);
    const enum tn_status status = open_parts(worker, config, error);
    if (status != TN_OK) {
        mirror_worker_destroy(worker);
        return status;
    }
    replica_init(&worker->core, &(struct replica_config){
                                    .workers = job->cluster.workers,
                                    .ranges = worker->shape.ranges,
                                    .slices = job->train.slices,
                                    .index = config->worker.identity.task.index,
                                    .keep_sums = job->strategy.keep_sums,
                                    .begins_unable = worker->group != NULL,
                                });
    *out = worker;
    return TN_OK;
}

void mirror_worker_destroy(struct mirror_worker *worker)
{
    if (worker == NULL) { return; }
    for (uint32_t i = 0; i < worker->links.count; i++) {
        assembly_reset(&worker->answers[i]);
        mirror_drop_fetched(worker, i);
    }
    for (uint32_t i = 0; i < worker->asker_count; i++) { assembly_reset(&worker->askers[i].body); }
    mirror_group_close(worker);
    tensors_close(&worker->tensors);
    checkpoint_client_close(&worker->checkpoints);
    shard_close(&worker->shard);
    compute_close(&worker->compute);
    free(worker);
}

const float *mirror_worker_values(const struct mirror_worker *worker, uint64_t *generation,
                                  uint64_t *step)
{
    *generation = worker->core.generation;
    *step = worker->core.step;
    return worker->core.whole ? worker->shard.current[0]->data : NULL;
}
