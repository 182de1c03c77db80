/* The actions of the core, carried out. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/time_spent.h"
#include "common/faults/failpoint.h"
#include "kernels/finite.h"
#include "kernels/measurement.h"
#include "mirror/mirror_private.h"
#include "worker/failure.h"

void mirror_finish(struct mirror_worker *worker, int exit_code)
{
    assert(exit_code >= 0);
    if (worker->finished) { return; }
    worker->finished = true;
    worker->exit_code = exit_code;
}

void mirror_out_of_memory(struct mirror_worker *worker)
{
    log_error("out of memory for the arrays of %" PRIu64 " parameters: exiting",
              worker->shape.parameters);
    mirror_finish(worker, TN_EXIT_ERROR);
}

static void follow_up(struct mirror_worker *worker, struct replica_event event)
{
    assert(worker->follow_up_count < FOLLOW_UPS_MAX);
    worker->follow_ups[worker->follow_up_count++] = event;
}

static const float *values_of(const struct mirror_worker *worker)
{
    assert(worker->shard.current[0] != NULL);
    return worker->shard.current[0]->data;
}

/* ---------------------------------------------------------------- arithmetic */

static void compute_one(struct mirror_worker *worker, uint64_t step, uint32_t index)
{
    struct error error = {.status = TN_OK};
    const struct slice_node node = worker->core.nodes[index];
    float *sum = gradients_begin(&worker->tensors.own, index);
    if (sum == NULL) {
        mirror_out_of_memory(worker);
        return;
    }
    const enum tn_status status =
        compute_node_into(&worker->compute, values_of(worker), step, node, sum, NULL, &error);
    if (status != TN_OK) {
        log_error("%s", error.text);
        mirror_finish(worker, failure_exit_code(status));
    } else if (!all_finite(sum, worker->shape.parameters)) {
        failure_log_divergence(step, node);
        mirror_finish(worker, TN_EXIT_INVALID_INPUT);
    }
    worker->tensors.own_losses[index] = compute_node_loss(&worker->compute);
}

static void compute(struct mirror_worker *worker, const struct replica_action *action)
{
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    const uint32_t end = action->first_node + action->node_count;
    uint64_t slices = 0;
    if (worker->group != NULL) {
        mirror_group_compute(worker, action);
        return;
    }
    assert(worker->core.computing && end <= worker->core.node_count);
    const uint64_t since_ns = stopwatch->read_ns(stopwatch->ctx, 0);
    for (uint32_t i = action->first_node; i < end && !worker->finished; i++) {
        compute_one(worker, action->step, i);
        slices += worker->core.nodes[i].count;
    }
    slice_timer_add(&worker->timer, slices, stopwatch->read_ns(stopwatch->ctx, slices) - since_ns);
}

uint64_t mirror_evaluation_ms(const struct mirror_worker *worker)
{
    const uint64_t slices = compute_evaluation_slices(&worker->compute);
    const uint64_t ns = worker->evaluation_ns != 0 ? worker->evaluation_ns
                                                   : slices * slice_timer_ns(&worker->timer);
    return ns / 1000000;
}

static void evaluate(struct mirror_worker *worker, const struct replica_action *action)
{
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    const struct shard *shard = &worker->shard;
    const bool has_average = optimizer_has_average(&shard->config.optimizer);
    const float *values = values_of(worker);
    const float *averages = has_average ? shard->current[shard->arrays - 1]->data : values;
    assert(worker->core.evaluating);
    struct error failure;
    const uint64_t since_ns = stopwatch->read_ns(stopwatch->ctx, 0);
    worker->evaluation =
        compute_evaluate(&worker->compute, values, averages, action->step, &failure);
    const uint64_t slices = compute_evaluation_slices(&worker->compute);
    worker->evaluation_ns = stopwatch->read_ns(stopwatch->ctx, slices) - since_ns;
    if (failure.status != TN_OK) {
        log_error("%s", failure.text);
        mirror_finish(worker, tanist_exit_code(failure.status));
        return;
    }
    log_info("evaluated step %" PRIu64 ": test_loss=%.4f accuracy=%.4f training_loss=%.4f",
             action->step, worker->evaluation.loss, worker->evaluation.accuracy,
             worker->evaluation.train_loss);
    FAILPOINT("worker.evaluated");
    follow_up(worker, (struct replica_event){.type = REPLICA_EV_EVALUATED});
}

static void note_loss(struct mirror_worker *worker, uint64_t step)
{
    const struct slice_node root = {0, worker->shape.slices};
    worker->losses.held[0] = tensors_sum(&worker->tensors, 0, step)->loss;
    losses_apply(&worker->losses, step, worker->shape.slices, &root, 1);
}

/* The sums of all ranges are one gradient. */
static void apply(struct mirror_worker *worker, uint64_t step)
{
    struct shard *shard = &worker->shard;
    struct shard_gradient parts[RANGES_MAX];
    const uint32_t ranges = worker->shape.ranges;
    assert(shard->updates == step);
    for (uint32_t r = 0; r < ranges; r++) {
        parts[r] = (struct shard_gradient){
            .first = worker->shape.places[r].first,
            .count = worker->shape.places[r].count,
            .values = tensors_sum(&worker->tensors, r, step)->body->data,
        };
    }
    const uint64_t begun_ns = clock_monotonic_ns();
    if (optimizer_needs_norms(&shard->config.optimizer)) {
        struct measurement all;
        shard_measure_gradient(shard, parts, ranges, &all);
        measurement_join(&all, 1, &shard->config.optimizer);
    }
    const bool applied = shard_apply_gradient(shard, parts, ranges);
    time_spent_add(TIME_APPLY, begun_ns);
    if (!applied) {
        mirror_out_of_memory(worker);
        return;
    }
    note_loss(worker, step);
    const uint64_t next = step + 1, kept = worker->core.config.keep_sums;
    tensors_applied(&worker->tensors, step, next > kept ? next - kept : 0);
}

/* -------------------------------------------------------------------- frames */

static void push(struct mirror_worker *worker, const struct replica_action *action)
{
    const uint32_t end = action->first_node + action->node_count;
    assert(end <= worker->core.node_count);
    for (uint32_t i = action->first_node; i < end; i++) {
        struct frame_header header =
            frame_codec_write(&worker->shape, action, worker->core.nodes[i], 0);
        FAILPOINT("worker.before_push");
        struct buffer *part = gradients_part(&worker->tensors.own, i, action->range, 0,
                                             worker->shape.places[action->range].count);
        if (part == NULL) {
            mirror_out_of_memory(worker);
            return;
        }
        header.loss = worker->tensors.own_losses[i];
        mirror_send(worker, worker->links.items[action->peer].conn, header, part);
    }
}

static void forward(struct mirror_worker *worker, const struct replica_action *action)
{
    struct slice_node nodes[SLICES_MAX];
    const uint32_t count =
        tensors_join(&worker->tensors, action->range, action->step,
                     &worker->actions.parts[action->first_part], action->part_count, nodes);
    if (count == 0) { mirror_out_of_memory(worker); }
    for (uint32_t i = 0; i < count; i++) {
        const struct range_sum *held =
            tensors_held(&worker->tensors, action->range, action->step, nodes[i]);
        struct frame_header header = frame_codec_write(&worker->shape, action, nodes[i], 0);
        header.loss = held->loss;
        mirror_send(worker, worker->links.items[action->peer].conn, header,
                    buffer_retain(held->body));
    }
}

static void ask(struct mirror_worker *worker, const struct replica_action *action)
{
    const struct slice_node none = {0, 0};
    mirror_send(worker, worker->links.items[action->peer].conn,
                frame_codec_write(&worker->shape, action, none, 0), NULL);
}

/* The core knows the connection by its low bits. */
static conn_id conn_of(const struct mirror_worker *worker, uint32_t low)
{
    for (uint32_t i = 0; i < worker->asker_count; i++) {
        if ((uint32_t)worker->askers[i].conn.v == low) { return worker->askers[i].conn; }
    }
    return (conn_id){0};
}

static void answer(struct mirror_worker *worker, const struct replica_action *action)
{
    const struct slice_node none = {0, 0};
    const conn_id conn = conn_of(worker, action->conn);
    struct frame_header header = frame_codec_write(&worker->shape, action, none, 0);
    struct buffer *body = NULL;
    if (conn.v == 0) { return; }
    if (action->type == REPLICA_DO_ANSWER) {
        const struct range_sum *sum = tensors_sum(&worker->tensors, action->range, action->step);
        header.loss = sum->loss;
        body = buffer_retain(sum->body);
    }
    mirror_send(worker, conn, header, body);
}

/* An update copies the arrays that are still being sent. */
static void send_values(struct mirror_worker *worker, const struct replica_action *action)
{
    const struct slice_node none = {0, 0};
    const conn_id conn = conn_of(worker, action->conn);
    assert(worker->shard.updates == action->step);
    if (conn.v == 0) { return; }
    log_info("sending the values of step %" PRIu64 " to a worker that is behind", action->step);
    for (uint32_t a = 0; a < worker->shape.arrays; a++) {
        mirror_send(worker, conn, frame_codec_write(&worker->shape, action, none, a),
                    buffer_retain(worker->shard.current[a]));
    }
}

/* --------------------------------------------------------------- checkpoints */

static void begin_load(struct mirror_worker *worker)
{
    struct load_order *order = &worker->load;
    order->waits = worker->checkpoints.load.checkpoint != 0;
    if (order->waits) { return; }
    if (!shard_begin_load(&worker->shard)) {
        mirror_out_of_memory(worker);
        return;
    }
    if (order->checkpoint != 0) {
        log_info("loading generation %" PRIu64 " from checkpoint %" PRIu64, order->generation,
                 order->checkpoint);
        checkpoint_client_load(&worker->checkpoints, order->checkpoint);
        return;
    }
    shard_load_initial(&worker->shard, &worker->config.model->table, worker->config.job->seed);
    follow_up(worker, (struct replica_event){.type = REPLICA_EV_LOADED,
                                             .generation = order->generation,
                                             .step = order->step});
}

static void load(struct mirror_worker *worker, const struct replica_action *action)
{
    worker->load = (struct load_order){
        .generation = action->generation, .checkpoint = action->checkpoint, .step = action->step};
    begin_load(worker);
}

static void adopt(struct mirror_worker *worker, const struct replica_action *action,
                  const struct replica_event *event)
{
    struct shard *shard = &worker->shard;
    const bool by_peer = event->type == REPLICA_EV_VALUES;
    if (by_peer) {
        struct fetched *fetched = &worker->fetched[event->peer];
        assert(fetched->count == shard->arrays);
        shard_discard_incoming(shard);
        memcpy(shard->incoming, fetched->arrays, sizeof shard->incoming);
        *fetched = (struct fetched){.count = 0};
    }
    if (!shard_adopt(shard, action->step)) {
        mirror_out_of_memory(worker);
        return;
    }
    tensors_applied(&worker->tensors, 0, action->step);
    losses_load(&worker->losses, action->step);
    log_info("loaded generation %" PRIu64 " step=%" PRIu64 " from %s", action->generation,
             action->step,
             by_peer                        ? "another worker"
             : worker->load.checkpoint != 0 ? "a checkpoint"
                                            : "initial values");
}

void mirror_loaded(struct mirror_worker *worker, bool succeeded)
{
    struct load_order *order = &worker->load;
    if (order->waits) { /* That was the load of an order before it. */
        begin_load(worker);
    } else if (!succeeded) {
        shard_discard_incoming(&worker->shard);
        worker->failed_load = order->checkpoint;
        worker->failed_load_generation = order->generation;
        worker->failed_load_missing = worker->checkpoints.load_missing;
    } else if (!worker->core.whole && worker->shard.incoming[0] != NULL) {
        follow_up(worker, (struct replica_event){.type = REPLICA_EV_LOADED,
                                                 .generation = order->generation,
                                                 .step = order->step});
    }
    mirror_feed(worker, (struct replica_event){.type = REPLICA_EV_TICK},
                (struct brought){.body = NULL});
}

static void miss(struct mirror_worker *worker, uint64_t checkpoint, bool late)
{
    worker->missed_checkpoint = u64_max(worker->missed_checkpoint, checkpoint);
    if (late) { worker->late_checkpoint = u64_max(worker->late_checkpoint, checkpoint); }
}

/* The writer of one range is that of all: a checkpoint is one shard (M10). */
static void save(struct mirror_worker *worker, const struct replica_action *action)
{
    const struct checkpoint_save request = {
        .checkpoint = action->checkpoint, .generation = action->generation, .step = action->step};
    assert(worker->shard.updates == action->step);
    if (action->range != 0) { return; }
    worker->saved_step = action->step;
    if (!checkpoint_client_save(&worker->checkpoints, &request)) {
        miss(worker, action->checkpoint, false);
    }
}

void mirror_release_brought(struct brought *with)
{
    buffer_release(with->body);
    *with = (struct brought){.body = NULL};
}

/* Once the tensors have a body, a sum may be written over it. */
void mirror_carry_out(struct mirror_worker *worker, const struct replica_action *action,
                      const struct replica_event *event, struct brought *with)
{
    struct tensors *tensors = &worker->tensors;
    switch (action->type) {
    case REPLICA_DO_HOLD:
        tensors_hold(tensors, action->range, action->step, action->node, with->body, with->loss);
        mirror_release_brought(with);
        break;
    case REPLICA_DO_REDUCE:
        if (!tensors_reduce(tensors, action->range, action->step,
                            &worker->actions.parts[action->first_part], action->part_count)) {
            mirror_out_of_memory(worker);
        }
        break;
    case REPLICA_DO_TAKE:
        tensors_take(tensors, action->range, action->step, with->body, with->loss);
        mirror_release_brought(with);
        break;
    case REPLICA_DO_APPLY: apply(worker, action->step); break;
    case REPLICA_DO_FORGET: gradients_clear(&tensors->own); break;
    case REPLICA_DO_DROP: tensors_drop(tensors, action->step); break;
    case REPLICA_DO_ANSWER:
    case REPLICA_DO_REFUSE: answer(worker, action); break;
    case REPLICA_DO_COMPUTE: compute(worker, action); break;
    case REPLICA_DO_PUSH: push(worker, action); break;
    case REPLICA_DO_FORWARD: forward(worker, action); break;
    case REPLICA_DO_PULL:
    case REPLICA_DO_PULL_VALUES: ask(worker, action); break;
    case REPLICA_DO_SEND_VALUES: send_values(worker, action); break;
    case REPLICA_DO_ADOPT: adopt(worker, action, event); break;
    case REPLICA_DO_LOAD: load(worker, action); break;
    case REPLICA_DO_SAVE: save(worker, action); break;
    case REPLICA_DO_MISS: miss(worker, action->checkpoint, true); break;
    case REPLICA_DO_EVALUATE: evaluate(worker, action); break;
    }
}
