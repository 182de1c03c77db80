#include "ps/ps.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "common/job/strategy.h"
#include "kernels/finite.h"
#include "ps/ps_private.h"
#include "ps/push_place.h"
#include "ps/slice_clocks.h"

/* Pass an event to the core and carry out its actions, and those that follow from their results. */
static void feed(struct ps *ps, const struct ps_event *event, struct buffer *body)
{
    assert(ps->finished || ps->follow_up_count == 0);
    struct ps_event next = *event;
    for (;;) {
        next.now_ms = ps->now_ms;
        ps_step_handle(&ps->core, &next, &ps->actions);
        for (uint32_t i = 0; i < ps->actions.count && !ps->finished; i++) {
            ps_carry_out(ps, &ps->actions.items[i], &body);
        }
        buffer_release(body);
        body = NULL;
        if (ps->finished || ps->follow_up_count == 0) { return; }
        next = ps->follow_ups[0];
        ps->follow_up_count--;
        memmove(&ps->follow_ups[0], &ps->follow_ups[1],
                ps->follow_up_count * sizeof ps->follow_ups[0]);
    }
}

/* ------------------------------------------------------------------ frames */

/* Why the frame is not a valid chunk of a push, or NULL. */
static const char *push_fault(const struct ps *ps, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    uint32_t slices = ps->config.job->train.slices;
    if (!slices_is_node(slices, header->first, header->count)) {
        return "its slices are not a node of the tree";
    }
    if (strategy_of_job(ps->config.job)->slice_updates && header->count != 1) {
        return "an async push must be of one slice";
    }
    if (event->body == NULL || event->body->size % sizeof(float) != 0) {
        return "its body is not an array of floats";
    }
    /* T8: shared memory has what the worker has checked, and what it could still change. */
    const bool is_checked = event->body->memory != 0;
    if (is_checked || all_finite(event->body->data, event->body->size / sizeof(float))) {
        return NULL;
    }
    return "it is not finite";
}

/* Why the frame is not a valid pull, part of a norm or chunk of a push, or NULL. */
static const char *frame_fault(struct ps *ps, const struct transport_event *event,
                               struct ps_client *client, enum chunk_kind *kind)
{
    const struct frame_header *header = &event->header;
    const bool has_rows = header->type == FRAME_PUSH_ROWS;
    *kind = has_rows ? CHUNK_MORE : CHUNK_LAST;
    if (client == NULL) { return "too many connections push"; }
    if (header->type == FRAME_PUSH) {
        const char *fault = push_fault(ps, event);
        if (fault == NULL) { fault = ps_rows_order_fault(client, header); }
        uint64_t bytes = ps->shard.config.count * sizeof(float);
        uint32_t chunk_bytes = ps->ports.transport.chunk_bytes;
        return fault != NULL ? fault
                             : chunks_fault(&client->order, header, bytes, chunk_bytes, kind);
    }
    if (client->order.incomplete) { return "the push before it is incomplete"; }
    if (has_rows || header->type == FRAME_LOOKUP) { return ps_rows_fault(ps, event, client); }
    if (header->type == FRAME_PULL) { return ps_rows_order_fault(client, header); }
    if (header->type != FRAME_NORM_PART || !ps->core.config.norms) {
        return "a ps does not accept this type";
    }
    return norms_fault(&ps->norms, header->first, event->body != NULL ? event->body->size : 0);
}

static void refuse_frame(struct ps *ps, const struct transport_event *event, const char *fault)
{
    const struct frame_header *header = &event->header;
    log_warn("closing the connection of incarnation %016" PRIx64 ": invalid frame: %s; type=%u "
             "first=%" PRIu32 " count=%" PRIu32 " bytes=%" PRIu32 " offset=%" PRIu64,
             header->sender, fault, header->type, header->first, header->count, header->body_bytes,
             header->offset);
    ps->ports.transport.close(ps->ports.transport.ctx, event->conn);
}

/* The number of a chunk of a push, in which its rows come first. */
static uint32_t chunk_number(const struct ps_client *client, const struct frame_header *header)
{
    if (header->type == FRAME_PUSH_ROWS) { return client->row_frames - 1; }
    return client->row_frames + client->order.number;
}

/* Takes the body. */
static void frame(struct ps *ps, const struct transport_event *event)
{
    assert(event->type == TRANSPORT_FRAME);
    const struct frame_header *header = &event->header;
    struct ps_client *client = ps_clients_find_or_add(&ps->clients, event->conn);
    enum chunk_kind kind = CHUNK_REPEATED;
    if (client == NULL || !client->order.invalid) {
        const char *fault = frame_fault(ps, event, client, &kind);
        if (fault != NULL) {
            refuse_frame(ps, event, fault);
            kind = CHUNK_REPEATED;
            if (client != NULL) { client->order.invalid = true; }
        }
    }
    if (kind == CHUNK_REPEATED) {
        buffer_release(event->body);
        return;
    }
    assert(client != NULL);
    static const enum ps_event_type types[FRAME_TYPE_END] = {
        [FRAME_PULL] = PS_EV_PULL,      [FRAME_PUSH] = PS_EV_PUSH,
        [FRAME_NORM_PART] = PS_EV_PART, [FRAME_PUSH_ROWS] = PS_EV_PUSH,
        [FRAME_LOOKUP] = PS_EV_LOOKUP,
    };
    struct ps_event request = {
        .type = types[header->type],
        .conn = event->conn,
        .generation = header->generation,
        .step = header->step,
        .round = header->sequence,
        .first = header->first,
        .count = header->count,
        .epoch = header->epoch,
        .revision = header->first,
        .last = header->type == FRAME_PULL && header->count == 1,
        .chunk = chunk_number(client, header),
        .more = kind == CHUNK_MORE,
        .by_lane = client->by_lane,
    };
    if (header->type == FRAME_PUSH && kind == CHUNK_LAST) { client->row_frames = 0; }
    /* No worker is of this generation: the sender wants the refusal, which has our step. */
    ps->is_probe = header->generation == UINT64_MAX;
    client->trains = client->trains || (!ps->is_probe && header->type != FRAME_NORM_PART);
    ps->frame_loss = header->loss;
    ps->frame_type = header->type;
    feed(ps, &request, event->body);
    ps->is_probe = false;
}

static void transport(struct ps *ps, const struct transport_event *event)
{
    int peer = ps_peers_handle_transport(&ps->peers, event, ps->now_ms);
    if (peer >= 0) {
        feed(ps, &(struct ps_event){.type = PS_EV_LINK_UP, .first = (uint32_t)peer}, NULL);
    }
    if (event->type == TRANSPORT_FRAME && event->header.type == FRAME_REPORT_ACK) {
        buffer_release(event->body); /* The membership has handled it. */
    } else if (event->type == TRANSPORT_FRAME && event->header.type == FRAME_LOSSES) {
        ps_answer_losses(ps, event);
        buffer_release(event->body);
    } else if (event->type == TRANSPORT_FRAME && event->header.type == FRAME_TABLES) {
        ps_rows_answer_tables(ps, event);
        buffer_release(event->body);
    } else if (event->type == TRANSPORT_FRAME && event->header.type == FRAME_BUCKETS) {
        ps_rows_answer_buckets(ps, event);
        buffer_release(event->body);
    } else if (event->type == TRANSPORT_FRAME) {
        frame(ps, event);
    } else if (event->type == TRANSPORT_OPENED && event->accepted && event->by_lane) {
        struct ps_client *client = ps_clients_find_or_add(&ps->clients, event->conn);
        if (client != NULL) { client->by_lane = true; }
    } else if (event->type == TRANSPORT_CLOSED) {
        ps_clients_remove(&ps->clients, event->conn);
        feed(ps, &(struct ps_event){.type = PS_EV_CONN_CLOSED, .conn = event->conn}, NULL);
    }
}

/* ------------------------------------------------------------- checkpoints */

static void loaded(struct ps *ps)
{
    assert(ps->core.loading_generation != 0);
    FAILPOINT("load.before_adopt");
    const struct store_metadata *metadata = &ps->checkpoints.metadata;
    uint32_t slices = ps->config.job->train.slices;
    ps->incoming_updates = metadata->optimizer_steps;
    ps->has_clocks = strategy_of_job(ps->config.job)->slice_updates &&
                     slice_clocks_decode(metadata->blob, metadata->blob_bytes, slices, ps->clocks);
    feed(ps, &(struct ps_event){.type = PS_EV_LOADED, .clocks = ps->has_clocks ? ps->clocks : NULL},
         NULL);
}

static void follow_run(struct ps *ps)
{
    const struct run *run = &ps->membership.run;
    if (!ps->membership.has_run || !ps->checkpoints.listed || ps->finished) { return; }
    checkpoint_client_follow(&ps->checkpoints, run);
    feed(ps, &(struct ps_event){.type = PS_EV_RUN, .run = run}, NULL);
    if (run_is_over(run) && ps->leave_at_ms == UINT64_MAX) {
        ps->leave_at_ms = ps->now_ms + PS_LEAVE_MS;
    }
}

static void handle_checkpoint_event(struct ps *ps, enum checkpoint_event type)
{
    struct ps_event event = {.checkpoint = ps->checkpoints.event_checkpoint};
    switch (type) {
    case CHECKPOINT_NO_EVENT: return;
    case CHECKPOINT_LISTED: follow_run(ps); return;
    case CHECKPOINT_LOADED: loaded(ps); return;
    case CHECKPOINT_LOAD_FAILED:
        shard_discard_incoming(&ps->shard);
        shard_rows_discard(&ps->rows);
        event.type = PS_EV_LOAD_FAILED;
        event.missing = ps->checkpoints.load_missing;
        break;
    case CHECKPOINT_SAVED: event.type = PS_EV_SAVED; break;
    case CHECKPOINT_SAVE_FAILED: event.type = PS_EV_SAVE_FAILED; break;
    }
    feed(ps, &event, NULL);
    if (ps->core.generation != 0 && type == CHECKPOINT_SAVED) { ps_kept_write(ps, ps->core.step); }
}

/* ----------------------------------------------------------------- reactor */

/* The inputs of the newest checkpoint on the disk (C13). */
static void report_inputs(const struct manifest *newest, struct report *report)
{
    static_assert(sizeof newest->kernels == sizeof report->inputs.fingerprint, "fingerprints fit");
    assert(newest->id != 0);
    memcpy(report->inputs.fingerprint, newest->kernels, sizeof newest->kernels);
    report->inputs.data[0] = newest->data.low;
    report->inputs.data[1] = newest->data.high;
}

static void report(struct ps *ps)
{
    const struct ps_step *core = &ps->core;
    const struct checkpoint_client *checkpoints = &ps->checkpoints;
    if (!ps->membership.has_run) { return; }
    if (!checkpoint_client_ready(&ps->checkpoints, &ps->membership.run)) { return; }
    struct report report = {
        .generation = core->generation,
        .step = core->step,
        .leaving = ps->drain_until_ms != 0,
        .saved_checkpoint = core->saved_checkpoint,
        .saved_step = core->saved_step,
        .missed_checkpoint = core->missed_checkpoint,
        .late_checkpoint = core->late_checkpoint,
        .failed_load = core->failed_load,
        .failed_load_generation = core->failed_load_generation,
        .failed_load_missing = core->failed_load_missing,
        .loading_generation = core->loading_generation,
        .waits_for_checkpoint = core->waits_for_checkpoint,
        .gate = ps_step_gate(core),
        .beyond = ps_step_has_gate(core) && ps_step_is_beyond(core),
        .evaluation = {.step = STEP_NONE},
    };
    report.late_periods = ps_step_late(core, ps->now_ms, &report.late);
    if (report.late_periods > 0) { report.late_after_ms = lateness_limit_ms(&core->lateness); }
    checkpoint_client_report(checkpoints, &report);
    if (checkpoints->manifest_count > 0) { report_inputs(&checkpoints->manifests[0], &report); }
    memcpy(report.place, ps->place, sizeof report.place);
    membership_report(&ps->membership, &report);
}

static void hurry_save(struct ps *ps)
{
    const struct run *run = &ps->membership.run;
    const uint64_t every = ps->config.job->checkpoint.every_steps;
    if (!ps->membership.has_run) { return; }
    if (ps->drain_until_ms != 0 ||
        run_hurries_save(run, ps->core.generation, ps->core.step, every)) {
        checkpoint_client_hurry(&ps->checkpoints);
    }
}

static void leave_if_over(struct ps *ps)
{
    if (ps->leave_at_ms == UINT64_MAX || ps->finished) { return; }
    const bool is_observed = losses_observer_waits(&ps->observer, ps->core.step, ps->now_ms);
    if (is_observed && ps->now_ms < ps->leave_at_ms) { return; }
    if (!checkpoint_client_idle(&ps->checkpoints)) {
        if (ps->now_ms < ps->leave_at_ms) { return; }
        log_warn("leaving before the manifest of the last checkpoint was copied");
    }
    ps_finish(ps, ps->membership.run.phase == RUN_FAILED ? TN_EXIT_ERROR : TN_EXIT_OK);
}

/* P10: whether the values of this ps are durable, or lost anyway. */
static bool is_dispensable(const struct ps *ps)
{
    const struct run *run = &ps->membership.run;
    assert(ps->membership.has_run);
    if (ps->core.generation == 0 || ps->core.generation != run->generation) { return true; }
    switch (run->phase) {
    case RUN_RUNNING:
    case RUN_STOPPING: return false;
    case RUN_PAUSED: return run->recovery.kind != RECOVERY_OPERATOR;
    default: return true;
    }
}

static void leave_if_drained(struct ps *ps)
{
    if (ps->drain_until_ms == 0 || ps->finished) { return; }
    bool late = ps->now_ms >= ps->drain_until_ms;
    bool may_leave =
        !ps->membership.has_run || (is_dispensable(ps) && checkpoint_client_idle(&ps->checkpoints));
    if (!may_leave && !late) { return; }
    if (!may_leave) { log_warn("leaving although steps since the last checkpoint are lost by it"); }
    ps_finish(ps, TN_EXIT_OK);
}

static void handle(void *self, const struct node_event *event)
{
    struct ps *ps = self;
    assert(!ps->finished);
    assert(event->now_ms >= ps->now_ms);
    ps->now_ms = event->now_ms;
    unsigned changes = membership_handle(&ps->membership, event);
    if ((changes & MEMBERSHIP_ENDED) != 0) { ps_finish(ps, ps->membership.exit_code); }
    handle_checkpoint_event(ps, checkpoint_client_tick(&ps->checkpoints, event->now_ms));
    switch (event->type) {
    case NODE_START: checkpoint_client_start(&ps->checkpoints, event->now_ms); break;
    case NODE_TICK: break;
    case NODE_ZK:
        ps_peers_handle_zk(&ps->peers, event->zk, &ps->membership, event->now_ms);
        handle_checkpoint_event(ps, checkpoint_client_handle_zk(&ps->checkpoints, event->zk));
        break;
    case NODE_TRANSPORT: transport(ps, event->transport); break;
    case NODE_ROLE:
        handle_checkpoint_event(ps, checkpoint_client_handle_store(&ps->checkpoints, event->role));
        break;
    case NODE_LEAVE: ps_finish(ps, TN_EXIT_OK); break;
    case NODE_DRAIN: ps->drain_until_ms = event->now_ms + NODE_DRAIN_MS; break;
    }
    if ((changes & MEMBERSHIP_RUN) != 0) { follow_run(ps); }
    ps_peers_tick(&ps->peers, &ps->membership, event->now_ms);
    ps_peers_await(&ps->peers, ps_step_awaited_parts(&ps->core), ps->core.step, event->now_ms);
    hurry_save(ps);
    if (!ps->finished) { report(ps); }
    leave_if_over(ps);
    leave_if_drained(ps);
}

static uint64_t deadline_ms(const void *self)
{
    const struct ps *ps = self;
    uint64_t deadline = u64_min(membership_deadline_ms(&ps->membership),
                                checkpoint_client_deadline_ms(&ps->checkpoints));
    deadline = u64_min(deadline, ps_peers_deadline_ms(&ps->peers));
    deadline = u64_min(deadline, ps_step_deadline_ms(&ps->core, ps->now_ms));
    if (ps->drain_until_ms != 0) { deadline = u64_min(deadline, ps->drain_until_ms); }
    return u64_min(deadline, ps->leave_at_ms);
}

static bool is_finished(const void *self, int *exit_code)
{
    const struct ps *ps = self;
    *exit_code = ps->exit_code;
    return ps->finished;
}

struct node ps_node(struct ps *ps)
{
    return (struct node){ps, handle, deadline_ms, is_finished};
}

/* ---------------------------------------------------------- create, destroy */

static enum tn_status open_parts(struct ps *ps, struct error *error)
{
    const struct job *job = ps->config.job;
    uint64_t parameters = ps->config.variables->parameter_count;
    uint32_t index = ps->config.identity.task.index;
    struct placement place = variable_table_shard(ps->config.variables, job->cluster.ps, index);
    struct shard_config shard = {
        .kernels = ps->config.kernels,
        .optimizer = optimizer_of_job(job, ps->config.variables),
        .chunk_bytes = ps->ports.transport.chunk_bytes,
        .pool = ps->ports.buffers,
        .kept = ps->kept,
        .first = place.first,
        .count = place.count,
        .slices = job->train.slices,
        .gpu = ps->config.gpu,
    };
    if (strategy_of_job(job)->slice_updates) {
        shard.optimizer = optimizer_per_slice(shard.optimizer, job->train.slices);
    }
    if (optimizer_needs_norms(&shard.optimizer)) {
        if (ps->config.variables->shard_count != 0) {
            return error_set(error, TN_EINVAL,
                             "train.clip_norm and optimizers that adapt to norms need "
                             "placement.strategy \"ranges\"");
        }
        norms_init(&ps->norms, ps->ports.buffers, &shard.optimizer, job->cluster.ps, index);
    }
    enum tn_status status = shard_open(&ps->shard, &shard, error);
    if (status == TN_OK) {
        struct cell_arena *arena =
            ps->kept != NULL && ps->kept->rows.blocks != NULL ? &ps->kept->rows : NULL;
        status = shard_rows_open(&ps->rows, job, ps->config.variables, index, arena, error);
    }
    if (status != TN_OK) { return status; }
    struct checkpoint_client_config checkpoints = {
        .store = ps->config.store,
        .membership = &ps->membership,
        .ports = &ps->ports,
        .shard = &ps->shard,
        .rows = &ps->rows,
        .job = job,
        .variables = ps->config.variables,
        .variables_hash = variable_table_hash(ps->config.variables),
        .graph_hash = ps->config.variables->graph_hash,
        .parameters = parameters,
        .shards = job->cluster.ps,
        .index = index,
        .keep = job->checkpoint.keep,
        .interval_ms = job->checkpoint.every_seconds * 1000,
    };
    return checkpoint_client_open(&ps->checkpoints, &checkpoints, error);
}

enum tn_status ps_create(const struct ps_config *config, struct ps **out, struct error *error)
{
    *out = NULL;
    const struct job *job = config->job;
    assert(config->identity.task.role == ROLE_PS);
    assert(config->identity.task.index < job->cluster.ps);
    enum tn_status status = variable_table_check_ps(config->variables, job->cluster.ps, error);
    if (status != TN_OK) { return status; }
    struct ps *ps = calloc(1, sizeof *ps);
    if (ps == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a ps"); }
    ps->config = *config;
    ps->ports = *config->ports;
    ps->leave_at_ms = UINT64_MAX;
    snprintf(ps->place, sizeof ps->place, "%s", config->place);
    membership_init(&ps->membership, &config->identity, &ps->ports);
    const struct optimizer optimizer = optimizer_of_job(job, config->variables);
    const struct strategy *strategy = strategy_of_job(job);
    bool norms = !strategy->slice_updates && optimizer_needs_norms(&optimizer);
    const struct placement place =
        variable_table_shard(config->variables, job->cluster.ps, config->identity.task.index);
    ps_peers_init(&ps->peers, norms, config->identity.task.index, job->cluster.ps,
                  &ps->ports.transport);
    const uint32_t chunk_bytes = ps->ports.transport.chunk_bytes;
    const bool places = push_place_exists(job, config->variables, place.count,
                                          config->push_place_chunks, chunk_bytes);
    const uint64_t chunks = (place.count * sizeof(float) - 1) / chunk_bytes + 1;
    ps_step_init(&ps->core, &(struct ps_step_config){
                                .strategy = strategy->kind,
                                .slices = job->train.slices,
                                .ps = job->cluster.ps,
                                .index = config->identity.task.index,
                                .norms = norms,
                                .rows = config->variables->row_table_count > 0,
                                .places = places,
                                .chunks = places && !norms ? (uint32_t)chunks : 0,
                                .max_staleness = job->train.max_staleness,
                                .evaluate_every = job_evaluate_every(job),
                                .checkpoint_every = job->checkpoint.every_steps,
                                .best = job->checkpoint.best != BEST_NONE,
                            });
    ps->kept = config->kept;
    ps->losses = &ps->own_losses;
    status = open_parts(ps, error);
    if (status == TN_OK) {
        ps_kept_recover(ps);
        *out = ps;
    } else {
        ps_destroy(ps);
    }
    return status;
}

void ps_destroy(struct ps *ps)
{
    if (ps == NULL) { return; }
    checkpoint_client_close(&ps->checkpoints);
    ps_clients_release_all(&ps->clients);
    shard_close(&ps->shard);
    if (ps->kept != NULL) { cell_arena_close(&ps->kept->rows); }
    shard_rows_close(&ps->rows);
    norms_close(&ps->norms);
    free(ps);
}

const float *ps_values(const struct ps *ps, uint64_t *generation, uint64_t *step)
{
    *generation = ps->core.generation;
    *step = ps->core.step;
    return ps->shard.current[0] != NULL ? ps->shard.current[0]->data : NULL;
}
