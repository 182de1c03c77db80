#include "ps/ps.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/cluster/placement.h"
#include "common/faults/failpoint.h"
#include "common/node/membership.h"
#include "ps/checkpoint_client.h"
#include "ps/shard.h"
#include "ps/slice_clocks.h"
#include "ps/step.h"

enum { FOLLOW_UPS_MAX = 4 };

struct ps {
    struct ps_config config;
    struct node_ports ports;
    struct membership membership;
    struct ps_step core;
    struct ps_actions actions;
    struct shard shard;
    struct checkpoint_client checkpoints;
    uint64_t now_ms;
    /* What the carrying out of actions answers at once. */
    struct ps_event follow_ups[FOLLOW_UPS_MAX];
    uint32_t follow_up_count;
    uint64_t clocks[SLICES_MAX];
    bool has_clocks;
    uint64_t incoming_updates; /* Of the arrays that wait to be adopted. */
    uint64_t load_began_ms;
    uint64_t leave_at_ms; /* The run is over: gone by then. UINT64_MAX: it is not. */
    uint64_t refusals, say_refusals_at_ms;
    bool questioned; /* The frame at hand only wants to know our step. */
    bool finished;
    int exit_code;
    char place[64];
};

static void finish(struct ps *ps, int exit_code)
{
    if (ps->finished) { return; }
    ps->finished = true;
    ps->exit_code = exit_code;
}

static unsigned long long number(uint64_t value)
{
    return value;
}

/* ----------------------------------------------------------------- actions */

static void follow_up(struct ps *ps, struct ps_event event)
{
    assert(ps->follow_up_count < FOLLOW_UPS_MAX);
    ps->follow_ups[ps->follow_up_count++] = event;
}

static void send(struct ps *ps, conn_id conn, struct frame_header header, struct buffer *body)
{
    uint64_t office = ps->membership.office.epoch, run = ps->membership.run.epoch;
    header.epoch = office > run ? office : run;
    ps->ports.transport.send(ps->ports.transport.ctx, conn, &header, body);
}

static void answer(struct ps *ps, const struct ps_action *action)
{
    struct buffer *values = action->previous ? ps->shard.previous : ps->shard.current[0];
    assert(values != NULL);
    struct frame_header header = {
        .type = FRAME_VALUES,
        .generation = action->generation,
        .step = action->step,
        .sequence = action->round,
    };
    send(ps, action->conn, header, buffer_retain(values));
}

/* Stragglers after a restore are many and harmless: one line every few seconds tells of them. */
static void refuse(struct ps *ps, const struct ps_action *action)
{
    struct frame_header header = {
        .type = FRAME_REFUSED,
        .generation = ps->core.generation,
        .step = ps->core.step,
        .first = (uint32_t)action->refusal,
    };
    send(ps, action->conn, header, NULL);
    if (ps->questioned) { return; }
    ps->refusals++;
    if (ps->now_ms < ps->say_refusals_at_ms) { return; }
    log_info("refused %llu pushes or pulls: %s; generation %llu is at step %llu here",
             number(ps->refusals),
             action->refusal == REFUSAL_GENERATION    ? "of another generation"
             : action->refusal == REFUSAL_NOT_RUNNING ? "not loaded yet"
                                                      : "of a step that is gone",
             number(ps->core.generation), number(ps->core.step));
    ps->say_refusals_at_ms = ps->now_ms + PS_REFUSAL_LOG_MS;
    ps->refusals = 0;
}

static void apply(struct ps *ps)
{
    FAILPOINT("ps.before_apply");
    if (shard_apply(&ps->shard, ps->actions.parts, ps->actions.part_count)) {
        FAILPOINT("ps.applied_before_ack");
        follow_up(ps, (struct ps_event){.type = PS_EV_APPLIED});
        return;
    }
    log_error("no memory for the next step's %llu parameters: leaving",
              number(ps->shard.config.count));
    finish(ps, TN_EXIT_ERROR);
}

static void load(struct ps *ps, const struct ps_action *action)
{
    ps->load_began_ms = ps->now_ms;
    ps->has_clocks = false;
    if (!shard_begin_load(&ps->shard)) {
        log_error("no memory for %llu parameters: leaving", number(ps->shard.config.count));
        finish(ps, TN_EXIT_ERROR);
        return;
    }
    if (action->checkpoint != 0) {
        log_info("loading generation %llu from checkpoint %llu", number(action->generation),
                 number(action->checkpoint));
        checkpoint_client_load(&ps->checkpoints, action->checkpoint);
        return;
    }
    shard_load_initial(&ps->shard, ps->config.variables, ps->config.job->seed);
    ps->incoming_updates = 0;
    follow_up(ps, (struct ps_event){.type = PS_EV_LOADED});
}

static void adopt(struct ps *ps)
{
    shard_adopt(&ps->shard, ps->incoming_updates);
    char source[48] = "initial values";
    if (ps->core.loading_checkpoint != 0) {
        snprintf(source, sizeof source, "checkpoint %llu", number(ps->core.loading_checkpoint));
    }
    log_info("loaded generation %llu from %s, step %llu, in %llu ms", number(ps->core.generation),
             source, number(ps->core.step), number(ps->now_ms - ps->load_began_ms));
}

static void save(struct ps *ps, const struct ps_action *action)
{
    uint8_t metadata[STORE_BLOB_MAX];
    struct checkpoint_save request = {action->checkpoint, action->generation, action->step, NULL,
                                      0};
    if (ps->config.job->train.mode == TRAIN_ASYNC) {
        request.blob_bytes =
            slice_clocks_encode(ps->core.clock, ps->config.job->train.slices, metadata);
        request.blob = metadata;
    }
    log_debug("saving checkpoint %llu at step %llu", number(action->checkpoint),
              number(action->step));
    if (checkpoint_client_save(&ps->checkpoints, &request)) { return; }
    follow_up(ps, (struct ps_event){.type = PS_EV_SAVE_FAILED, .checkpoint = action->checkpoint});
}

/* `*body` is this event's; NULL afterwards if it was taken. */
static void carry_out(struct ps *ps, const struct ps_action *action, struct buffer **body)
{
    switch (action->type) {
    case PS_DO_HOLD:
        assert(*body != NULL);
        shard_hold(&ps->shard, action->first, *body);
        *body = NULL;
        if (!ps->core.applying) { FAILPOINT("ps.mid_step"); }
        break;
    case PS_DO_DROP: break; /* Released by the caller. */
    case PS_DO_RELEASE: shard_release(&ps->shard, action->first); break;
    case PS_DO_RELEASE_ALL: shard_release_all(&ps->shard); break;
    case PS_DO_APPLY: apply(ps); break;
    case PS_DO_ANSWER: answer(ps, action); break;
    case PS_DO_REFUSE: refuse(ps, action); break;
    case PS_DO_LOAD: load(ps, action); break;
    case PS_DO_ADOPT: adopt(ps); break;
    case PS_DO_DISCARD: shard_discard_incoming(&ps->shard); break;
    case PS_DO_FORGET: shard_forget(&ps->shard); break;
    case PS_DO_SAVE: save(ps, action); break;
    }
}

/* Show the core an event, carry out what it says, then show it what that answered. */
static void feed(struct ps *ps, const struct ps_event *event, struct buffer *body)
{
    struct ps_event next = *event;
    for (;;) {
        ps_step_handle(&ps->core, &next, &ps->actions);
        for (uint32_t i = 0; i < ps->actions.count && !ps->finished; i++) {
            carry_out(ps, &ps->actions.items[i], &body);
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

/* Why the frame is no push that we can use, or NULL. */
static const char *push_fault(const struct ps *ps, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    uint32_t slices = ps->config.job->train.slices;
    size_t bytes = event->body != NULL ? event->body->size : 0;
    if (!slices_is_node(slices, header->first, header->count)) { return "its slices are no node"; }
    if (ps->config.job->train.mode == TRAIN_ASYNC && header->count != 1) {
        return "in async mode a push is one slice";
    }
    if (bytes != ps->shard.config.count * sizeof(float)) { return "its size is not our shard's"; }
    return NULL;
}

static void frame(struct ps *ps, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    const char *fault = NULL;
    struct ps_event push = {
        .type = PS_EV_PUSH,
        .conn = event->conn,
        .generation = header->generation,
        .step = header->step,
        .round = header->sequence,
        .first = header->first,
        .count = header->count,
    };
    if (header->type == FRAME_PUSH) {
        fault = push_fault(ps, event);
    } else if (header->type == FRAME_PULL) {
        push.type = PS_EV_PULL;
    } else {
        fault = "such frames are not for a ps";
    }
    if (fault == NULL) {
        /* Nobody works in the last generation: who pulls it asks for a refusal, with our step. */
        ps->questioned = header->generation == UINT64_MAX;
        feed(ps, &push, event->body);
        ps->questioned = false;
        return;
    }
    log_warn("closing the connection of incarnation %016llx: frame of type %u, slices %u+%u, %u "
             "bytes: %s",
             number(header->sender), header->type, header->first, header->count, header->body_bytes,
             fault);
    ps->ports.transport.close(ps->ports.transport.ctx, event->conn);
    buffer_release(event->body);
}

static void transport(struct ps *ps, const struct transport_event *event)
{
    if (event->type == TRANSPORT_FRAME && event->header.type == FRAME_REPORT_ACK) {
        buffer_release(event->body); /* The membership's, who has seen it. */
    } else if (event->type == TRANSPORT_FRAME) {
        frame(ps, event);
    } else if (event->type == TRANSPORT_CLOSED) {
        feed(ps, &(struct ps_event){.type = PS_EV_CONN_CLOSED, .conn = event->conn}, NULL);
    }
}

/* -------------------------------------------------------------------- disk */

static void loaded(struct ps *ps)
{
    FAILPOINT("load.before_adopt");
    const struct store_metadata *metadata = &ps->checkpoints.metadata;
    uint32_t slices = ps->config.job->train.slices;
    ps->incoming_updates = metadata->optimizer_steps;
    ps->has_clocks = ps->config.job->train.mode == TRAIN_ASYNC &&
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
    bool over = run->phase == RUN_DONE || run->phase == RUN_FAILED;
    if (over && ps->leave_at_ms == UINT64_MAX) { ps->leave_at_ms = ps->now_ms + PS_LEAVE_MS; }
}

static void handle_checkpoint_event(struct ps *ps, enum checkpoint_event news)
{
    struct ps_event event = {.checkpoint = ps->checkpoints.event_checkpoint};
    switch (news) {
    case CHECKPOINT_NO_EVENT: return;
    case CHECKPOINT_LISTED: follow_run(ps); return;
    case CHECKPOINT_LOADED: loaded(ps); return;
    case CHECKPOINT_LOAD_FAILED:
        shard_discard_incoming(&ps->shard);
        event.type = PS_EV_LOAD_FAILED;
        break;
    case CHECKPOINT_SAVED: event.type = PS_EV_SAVED; break;
    case CHECKPOINT_SAVE_FAILED: event.type = PS_EV_SAVE_FAILED; break;
    }
    feed(ps, &event, NULL);
}

/* ----------------------------------------------------------------- reactor */

static void report(struct ps *ps)
{
    const struct ps_step *core = &ps->core;
    const struct checkpoint_client *checkpoints = &ps->checkpoints;
    if (!checkpoints->listed) { return; }
    struct report report = {
        .generation = core->generation,
        .step = core->step,
        .saved_checkpoint = core->saved_checkpoint,
        .saved_step = core->saved_step,
        .missed_checkpoint = core->missed_checkpoint,
        .late_checkpoint = core->late_checkpoint,
        .failed_load = core->failed_load,
        .failed_load_generation = core->failed_load_generation,
        .disk_epoch = checkpoints->highest_epoch,
        .disk_generation = checkpoints->highest_generation,
        .evaluation = {.step = STEP_NONE},
    };
    if (checkpoints->saved_checkpoint == core->saved_checkpoint) {
        report.saved_digest[0] = checkpoints->saved_digest.low;
        report.saved_digest[1] = checkpoints->saved_digest.high;
        report.saved_bytes = checkpoints->saved_bytes;
    }
    if (checkpoints->manifest_count > 0) {
        report.disk_checkpoint = checkpoints->manifests[0].id;
        report.disk_step = checkpoints->manifests[0].step;
    }
    memcpy(report.place, ps->place, sizeof report.place);
    membership_report(&ps->membership, &report);
}

static void leave_if_over(struct ps *ps)
{
    if (ps->leave_at_ms == UINT64_MAX || ps->finished) { return; }
    if (!checkpoint_client_idle(&ps->checkpoints)) {
        if (ps->now_ms < ps->leave_at_ms) { return; }
        log_warn("leaving with the last checkpoint's manifest not copied");
    }
    finish(ps, ps->membership.run.phase == RUN_FAILED ? TN_EXIT_ERROR : TN_EXIT_OK);
}

static void handle(void *self, const struct node_event *event)
{
    struct ps *ps = self;
    ps->now_ms = event->now_ms;
    unsigned news = membership_handle(&ps->membership, event);
    if ((news & MEMBERSHIP_ENDED) != 0) { finish(ps, ps->membership.exit_code); }
    handle_checkpoint_event(ps, checkpoint_client_tick(&ps->checkpoints, event->now_ms));
    switch (event->type) {
    case NODE_START: checkpoint_client_start(&ps->checkpoints, event->now_ms); break;
    case NODE_TICK: break;
    case NODE_ZK:
        handle_checkpoint_event(ps, checkpoint_client_handle_zk(&ps->checkpoints, event->zk));
        break;
    case NODE_TRANSPORT: transport(ps, event->transport); break;
    case NODE_ROLE:
        handle_checkpoint_event(ps, checkpoint_client_handle_store(&ps->checkpoints, event->role));
        break;
    case NODE_LEAVE: finish(ps, TN_EXIT_OK); break;
    }
    if ((news & MEMBERSHIP_RUN) != 0) { follow_run(ps); }
    if (!ps->finished) { report(ps); }
    leave_if_over(ps);
}

static uint64_t deadline_ms(const void *self)
{
    const struct ps *ps = self;
    uint64_t first = membership_deadline_ms(&ps->membership);
    uint64_t checkpoints = checkpoint_client_deadline_ms(&ps->checkpoints);
    if (checkpoints < first) { first = checkpoints; }
    return ps->leave_at_ms < first ? ps->leave_at_ms : first;
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

/*
 * In async mode each of the V slices' gradients, a V-th of the step's, is an update. So that V of
 * them do what one sync update does, what reaches back over updates (momentum, Adam's means)
 * reaches V times as many, and the rate is a V-th where it multiplies a mean over them.
 */
static struct optimizer async_optimizer(struct optimizer optimizer, uint32_t slices)
{
    optimizer.decay_steps *= slices;
    if (optimizer.kind == OPTIMIZER_SGD) { return optimizer; }
    optimizer.learning_rate /= slices;
    optimizer.final_learning_rate /= slices;
    optimizer.momentum = 1 - (1 - optimizer.momentum) / slices;
    optimizer.beta1 = 1 - (1 - optimizer.beta1) / slices;
    optimizer.beta2 = 1 - (1 - optimizer.beta2) / slices;
    optimizer.epsilon /= slices;
    return optimizer;
}

static enum tn_status open_parts(struct ps *ps, struct error *error)
{
    const struct job *job = ps->config.job;
    uint64_t parameters = ps->config.variables->parameter_count;
    uint32_t index = ps->config.identity.task.index;
    struct placement place = placement_range(parameters, job->cluster.ps, index);
    struct shard_config shard = {
        .kernels = ps->config.kernels,
        .optimizer = optimizer_of_job(job),
        .pool = ps->ports.buffers,
        .first = place.first,
        .count = place.count,
        .slices = job->train.slices,
    };
    if (job->train.mode == TRAIN_ASYNC) {
        shard.optimizer = async_optimizer(shard.optimizer, job->train.slices);
    }
    enum tn_status status = shard_open(&ps->shard, &shard, error);
    if (status != TN_OK) { return status; }
    struct checkpoint_client_config checkpoints = {
        .store = ps->config.store,
        .membership = &ps->membership,
        .ports = &ps->ports,
        .shard = &ps->shard,
        .variables_hash = variable_table_hash(ps->config.variables),
        .parameters = parameters,
        .shards = job->cluster.ps,
        .index = index,
        .keep = job->checkpoint.keep,
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
    if (ps == NULL) { return error_set(error, TN_ENOMEM, "no memory for a ps"); }
    ps->config = *config;
    ps->ports = *config->ports;
    ps->leave_at_ms = UINT64_MAX;
    snprintf(ps->place, sizeof ps->place, "%s", config->place);
    membership_init(&ps->membership, &config->identity, &ps->ports);
    ps_step_init(&ps->core, &(struct ps_step_config){job->train.mode, job->train.slices,
                                                     job->train.max_staleness});
    status = open_parts(ps, error);
    if (status == TN_OK) {
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
    shard_close(&ps->shard);
    free(ps);
}

const float *ps_values(const struct ps *ps, uint64_t *generation, uint64_t *step)
{
    *generation = ps->core.generation;
    *step = ps->core.step;
    return ps->shard.current[0] != NULL ? ps->shard.current[0]->data : NULL;
}
