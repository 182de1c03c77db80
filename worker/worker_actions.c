/* The actions of the core, carried out. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "worker/failure.h"
#include "worker/ps_frames.h"
#include "worker/worker_private.h"

void worker_finish(struct worker *worker, int exit_code)
{
    assert(exit_code >= 0);
    if (worker->finished) { return; }
    worker->finished = true;
    worker->exit_code = exit_code;
}

void worker_follow_up(struct worker *worker, struct loop_event event)
{
    assert(worker->follow_up_count < FOLLOW_UPS_MAX);
    worker->follow_ups[worker->follow_up_count++] = event;
}

static void follow_up(struct worker *worker, enum loop_event_type type)
{
    worker_follow_up(worker, (struct loop_event){.type = type, .now_ms = worker->now_ms});
}

void worker_send(struct worker *worker, uint32_t ps, struct frame_header header,
                 struct buffer *body)
{
    conn_id conn = worker->links.items[ps].conn;
    assert(conn.v != 0);
    if (header.type != FRAME_PULL) {
        header.epoch = u64_max(worker->membership.chief.epoch, worker->membership.run.epoch);
    }
    worker->ports.transport.send(worker->ports.transport.ctx, conn, &header, body);
}

void worker_out_of_memory(struct worker *worker)
{
    log_error("out of memory for the gradients of %" PRIu64 " parameters: exiting",
              worker->compute.parameters);
    worker_finish(worker, TN_EXIT_ERROR);
}

/* The gradient of a node, which is sent meanwhile. False: the worker has finished. */
static bool compute_one(struct worker *worker, const struct loop_action *action, uint32_t node)
{
    struct error error = {.status = TN_OK};
    struct slice_node slices = worker->core.nodes[node];
    const struct compute_watch watch = {worker_push_ahead, worker};
    float *sum = gradients_begin(&worker->gradients, node);
    if (sum == NULL) {
        worker_out_of_memory(worker);
        return false;
    }
    worker_push_ahead_begin(worker, action, node, sum);
    enum tn_status status = compute_node_into(&worker->compute, worker->current->values->data,
                                              action->step, slices, sum, &watch, &error);
    if (status != TN_OK) {
        log_error("%s", error.text);
        worker_finish(worker, failure_exit_code(status));
    } else if (!worker_rows_computed(worker, node) || worker->ahead.diverged) {
        failure_log_divergence(action->step, slices);
        worker_finish(worker, TN_EXIT_INVALID_INPUT);
    }
    return !worker->finished;
}

static void compute(struct worker *worker, const struct loop_action *action)
{
    assert(worker->core.computing);
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    uint32_t end = action->first_node + action->node_count;
    uint64_t slices = 0;
    assert(end <= worker->core.node_count);
    const bool measures = slice_timer_measures(&worker->timer);
    const uint64_t since_ns = measures ? stopwatch->read_ns(stopwatch->ctx, 0) : 0;
    for (uint32_t node = action->first_node; node < end; node++) {
        if (!compute_one(worker, action, node)) { return; }
        slices += worker->core.nodes[node].count;
    }
    if (measures) {
        const uint64_t now_ns = stopwatch->read_ns(stopwatch->ctx, slices);
        slice_timer_add(&worker->timer, slices, now_ns - since_ns);
    }
    evaluation_timer_add(&worker->evaluation_timer, compute_evaluation_slices(&worker->compute) *
                                                        slice_timer_ns(&worker->timer));
    follow_up(worker, LOOP_EV_COMPUTED);
}

static void pull(struct worker *worker, const struct loop_action *action)
{
    assert(worker->core.ps[action->ps].up);
    worker_send(worker, action->ps, ps_frames_pull(action), NULL);
}

/* A chunk of the values of a shard, behind which its averages are, is for the next values. */
static bool take_chunk(struct worker *worker, const struct loop_action *action, struct buffer *body)
{
    const uint32_t ps = action->ps;
    const struct placement *place = &worker->places[ps];
    const size_t shard = place->count * sizeof(float);
    const size_t offset = (size_t)action->chunk * worker->ports.transport.chunk_bytes;
    const size_t to = place->first * sizeof(float);
    assert(offset + body->size <= shard * (worker->has_averages ? 2 : 1));
    if (offset + body->size <= shard) {
        if (action->growing) {
            const bool first = action->number == 0;
            return value_array_copy(worker->next, ps, action->chunk, first, to + offset, body);
        }
        return value_array_take(worker->next, ps, action->chunk, to + offset, body);
    }
    const size_t values = offset < shard ? shard - offset : 0;
    const size_t averages = worker->compute.parameters * sizeof(float);
    uint8_t *array = worker->next->values->data;
    const uint8_t *from = body->data;
    if (values > 0) { memcpy(array + to + offset, from, values); }
    memcpy(array + averages + to + (offset + values - shard), from + values, body->size - values);
    return true;
}

static void take(struct worker *worker, const struct loop_action *action, struct buffer *body)
{
    assert(body != NULL);
    if (!take_chunk(worker, action, body)) { worker_out_of_memory(worker); }
}

static void swap_values(struct worker *worker)
{
    struct value_array *old = worker->current;
    worker->current = worker->next;
    worker->next = old;
    value_array_return(old);
    if (!value_array_complete(worker->current)) { worker_out_of_memory(worker); }
}

static void evaluate(struct worker *worker, const struct loop_action *action)
{
    assert(worker->core.evaluating);
    const float *values = worker->current->values->data;
    const float *averages = values + (worker->has_averages ? worker->compute.parameters : 0);
    struct error failure;
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    const uint64_t slices = compute_evaluation_slices(&worker->compute);
    const uint64_t since_ns = stopwatch->read_ns(stopwatch->ctx, 0);
    worker->evaluation =
        compute_evaluate(&worker->compute, values, averages, action->step, &failure);
    const uint64_t took_ns = stopwatch->read_ns(stopwatch->ctx, slices) - since_ns;
    evaluation_timer_add(&worker->evaluation_timer, took_ns);
    if (failure.status != TN_OK) {
        log_error("%s", failure.text);
        worker_finish(worker, tanist_exit_code(failure.status));
        return;
    }
    log_info("evaluated step %" PRIu64 ": test_loss=%.4f accuracy=%.4f training_loss=%.4f",
             action->step, worker->evaluation.loss, worker->evaluation.accuracy,
             worker->evaluation.train_loss);
    FAILPOINT("worker.evaluated");
    follow_up(worker, LOOP_EV_EVALUATED);
}

void worker_carry_out(struct worker *worker, const struct loop_action *action, struct buffer *body)
{
    switch (action->type) {
    case LOOP_DO_TAKE: take(worker, action, body); break;
    case LOOP_DO_SWAP: swap_values(worker); break;
    case LOOP_DO_FORGET: gradients_clear(&worker->gradients); break;
    case LOOP_DO_COMPUTE: compute(worker, action); break;
    case LOOP_DO_PUSH: worker_push(worker, action); break;
    case LOOP_DO_PULL: pull(worker, action); break;
    case LOOP_DO_LIST: worker_rows_list(worker, action); break;
    case LOOP_DO_LOOKUP: worker_rows_look_up(worker, action); break;
    case LOOP_DO_EVALUATE: evaluate(worker, action); break;
    }
}
