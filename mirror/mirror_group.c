#include "mirror/mirror_group.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "common/job/strategy.h"
#include "group/member_message.h"
#include "kernels/finite.h"
#include "mirror/mirror_private.h"
#include "worker/failure.h"

static bool is_head(const struct mirror_group *group)
{
    return group->index == 0;
}

static struct member_values own_values(const struct mirror_worker *worker)
{
    const struct replica *core = &worker->core;
    return (struct member_values){
        .whole = core->whole, .generation = core->generation, .step = core->step};
}

static void failed(struct mirror_worker *worker, enum tn_status status)
{
    log_error("%s", worker->group->error.text);
    mirror_finish(worker, failure_exit_code(status));
}

bool mirror_group_is_worker(const struct mirror_worker *worker)
{
    const struct mirror_group *group = worker->group;
    if (group == NULL) { return true; }
    if (!is_head(group)) { return false; }
    const struct member_values own = own_values(worker);
    return member_state_is_worker(&group->holders, group->members,
                                  member_is_complete(group->member), &own);
}

/* ------------------------------------------------------- calls of the member */

static enum tn_status fill(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error)
{
    const struct mirror_worker *worker = ctx;
    return group_examples_slice(&worker->group->examples, label, field, view, error);
}

/* The update overwrites values, so a computation has a copy of those of its step. None is running:
 * the member asks for a copy only when it begins an order. */
static void copy_values(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    const struct replica *core = &worker->core;
    assert(core->whole && worker->shard.current[0] != NULL);
    part_vector_gather(&group->parts, group->index, worker->shard.current[0]->data,
                       group->values->data);
    group->copy.generation = core->generation;
    group->copy.step = core->step;
    group->copy.version++;
}

static enum member_answer prepare(void *ctx, struct computation_order *order)
{
    struct mirror_worker *worker = ctx;
    struct mirror_group *group = worker->group;
    const struct member_values own = own_values(worker);
    switch (member_state_has(&own, &group->copy, order->generation, order->step)) {
    case MEMBER_HAS_NOT_YET: return MEMBER_WAITS;
    case MEMBER_HAS_PASSED: return MEMBER_REFUSES;
    case MEMBER_HAS_VALUES: copy_values(worker); break;
    case MEMBER_HAS_COPY: break;
    }
    const size_t bytes = group->cut.floats[group->index] * sizeof(float);
    buffer_release(group->sum);
    group->sum = buffer_acquire(worker->ports.buffers, bytes + sizeof(float));
    if (group->sum == NULL) {
        mirror_out_of_memory(worker);
        return MEMBER_REFUSES;
    }
    group->sum->size = bytes;
    order->values = group->values->data;
    order->version = group->copy.version;
    order->sum = group->sum->data;
    return MEMBER_BEGINS;
}

static void computed(void *ctx, const struct computation_order *order, double loss)
{
    struct mirror_worker *worker = ctx;
    struct mirror_group *group = worker->group;
    struct buffer *sum = group->sum;
    FAILPOINT("group.computed");
    group->sum = NULL;
    if (is_head(group)) {
        buffer_release(group->part[0]);
        group->part[0] = sum;
        group->loss = loss;
        return;
    }
    if (sum->size == 0) {
        buffer_release(sum);
        return;
    }
    const struct member_frame message = {
        .kind = MEMBER_FRAME_GRADIENT,
        .label = {order->generation, order->step, order->node.first},
    };
    member_send(group->member, 0, message, sum);
}

static void done(void *ctx, const struct schedule_label *label)
{
    struct mirror_worker *worker = ctx;
    (void)label;
    worker->group->orders.is_done = true;
}

static void release_parts(struct mirror_group *group)
{
    for (uint32_t m = 0; m < GROUP_MEMBERS_MAX; m++) {
        buffer_release(group->part[m]);
        group->part[m] = NULL;
    }
}

static void reset(void *ctx)
{
    struct mirror_worker *worker = ctx;
    struct mirror_group *group = worker->group;
    release_parts(group);
    buffer_release(group->sum);
    group->sum = NULL;
    group->holders = (struct member_holders){.generations = {0}};
    group->orders = (struct member_orders){.is_active = false};
    group->reported = 0;
    group->was_reset = true;
    group->wait_since_ms = worker->now_ms;
    log_info("the group is not complete: a connection between its members was lost");
}

static void ready(void *ctx)
{
    struct mirror_worker *worker = ctx;
    struct mirror_group *group = worker->group;
    group->wait_since_ms = worker->now_ms;
    log_info("member %" PRIu32 " of %" PRIu32 " is ready", group->index, group->members);
}

static uint64_t expects(void *ctx, uint32_t peer, const struct member_frame *message)
{
    const struct mirror_worker *worker = ctx;
    const struct mirror_group *group = worker->group;
    if (message->kind != MEMBER_FRAME_GRADIENT || !is_head(group)) { return 0; }
    return group->cut.floats[peer] * sizeof(float);
}

static const char *take_gradient(struct mirror_group *group, uint32_t peer,
                                 const struct schedule_label *label, struct buffer *body)
{
    const struct member_orders *orders = &group->orders;
    const bool is_ordered = orders->is_active && label->generation == orders->generation &&
                            label->step == orders->step &&
                            label->slice == orders->nodes[orders->next - 1].first;
    if (!is_ordered || group->part[peer] != NULL) { return "a gradient was not ordered"; }
    group->part[peer] = buffer_retain(body);
    return NULL;
}

static const char *take_message(void *ctx, uint32_t peer, const struct member_frame *message,
                                struct buffer *body)
{
    struct mirror_worker *worker = ctx;
    struct mirror_group *group = worker->group;
    if (!member_message_is_for(group->index, peer, message->kind, GROUP_MEMBERS_MAX)) {
        return "a message is not for this member";
    }
    switch (message->kind) {
    case MEMBER_FRAME_HOLDS:
        group->holders.generations[peer] = message->label.generation;
        return NULL;
    case MEMBER_FRAME_GRADIENT: return take_gradient(group, peer, &message->label, body);
    default: return "a group without ps does not use this message";
    }
}

/* --------------------------------------------------------------------- orders */

static void order_next(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    struct member_orders *orders = &group->orders;
    const struct slice_node node = orders->nodes[orders->next++];
    orders->slices += node.count;
    release_parts(group);
    FAILPOINT("group.before_order");
    const enum tn_status status =
        member_order(group->member, orders->generation, orders->step, node, &group->error);
    if (status != TN_OK) { failed(worker, status); }
}

/* The attempt may have ended since the core became able; the event for that follows. */
void mirror_group_compute(struct mirror_worker *worker, const struct replica_action *action)
{
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    struct mirror_group *group = worker->group;
    assert(group->is_able && !group->orders.is_active && action->node_count >= 1);
    if (group->was_reset) { return; }
    group->orders = (struct member_orders){
        .is_active = true,
        .generation = action->generation,
        .step = action->step,
        .first_node = action->first_node,
        .count = action->node_count,
        .since_ns = stopwatch->read_ns(stopwatch->ctx, 0),
    };
    for (uint32_t i = 0; i < action->node_count; i++) {
        group->orders.nodes[i] = worker->core.nodes[action->first_node + i];
    }
    order_next(worker);
}

static void note_loss(struct mirror_worker *worker, struct slice_node node, double loss)
{
    const struct job *job = worker->config.job;
    uint64_t examples = 0;
    for (uint32_t v = node.first; v < node.first + node.count; v++) {
        examples += slices_positions(job->train.slices, job->train.batch, v).count;
    }
    recent_losses_add(&worker->compute.recent, worker->group->orders.step, loss, examples);
}

/* The losses of the nodes of a complete computation; a lost one is repeated. */
static void note_losses(struct mirror_worker *worker)
{
    const struct member_orders *orders = &worker->group->orders;
    assert(orders->next == orders->count);
    for (uint32_t i = 0; i < orders->count; i++) {
        note_loss(worker, orders->nodes[i], worker->tensors.own_losses[orders->first_node + i]);
    }
}

/* The gradient of the present node, from those of all members. False: the node ends, or the attempt
 * does. */
static bool put_together(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    const struct member_orders *orders = &group->orders;
    const struct slice_node node = orders->nodes[orders->next - 1];
    const uint32_t index = orders->first_node + orders->next - 1;
    float *sum = gradients_begin(&worker->tensors.own, index);
    if (sum == NULL) {
        mirror_out_of_memory(worker);
        return false;
    }
    for (uint32_t m = 0; m < group->members; m++) {
        if (group->cut.floats[m] == 0) { continue; }
        if (group->part[m] == NULL) {
            member_fail(group->member, "a member has sent no gradient");
            return false;
        }
        part_vector_scatter(&group->parts, m, group->part[m]->data, sum);
    }
    if (!all_finite(sum, worker->shape.parameters)) {
        failure_log_divergence(orders->step, node);
        mirror_finish(worker, TN_EXIT_INVALID_INPUT);
        return false;
    }
    worker->tensors.own_losses[index] = group->loss;
    return true;
}

static void continue_orders(struct mirror_worker *worker)
{
    struct member_orders *orders = &worker->group->orders;
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    while (orders->is_active && orders->is_done && !worker->finished) {
        orders->is_done = false;
        const bool is_wanted = orders->generation == worker->core.generation;
        if (is_wanted && !put_together(worker)) { return; }
        if (is_wanted && orders->next < orders->count) {
            order_next(worker);
            continue;
        }
        if (is_wanted) { note_losses(worker); }
        release_parts(worker->group);
        const uint64_t now_ns = stopwatch->read_ns(stopwatch->ctx, orders->slices);
        slice_timer_add(&worker->timer, orders->slices, now_ns - orders->since_ns);
        *orders = (struct member_orders){.is_active = false};
        mirror_feed(worker,
                    (struct replica_event){.type = REPLICA_EV_COMPUTED,
                                           .evaluation_ms = mirror_evaluation_ms(worker)},
                    (struct brought){.body = NULL});
    }
}

/* ------------------------------------------------------------------- readiness */

static void set_able(struct mirror_worker *worker, bool is_able)
{
    worker->group->is_able = is_able;
    mirror_feed(worker,
                (struct replica_event){.type = is_able ? REPLICA_EV_ABLE : REPLICA_EV_UNABLE},
                (struct brought){.body = NULL});
}

/* Let the core of the head know whether its group computes. Gradients of another generation are not
 * needed. */
static void settle(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    struct member_orders *orders = &group->orders;
    const bool was_able = group->is_able;
    if (group->was_reset) {
        group->was_reset = false;
        if (was_able) { set_able(worker, false); }
    }
    const bool is_old = orders->is_active && orders->generation != worker->core.generation;
    if (is_old && !orders->is_abandoned) {
        orders->is_abandoned = true;
        member_fail(group->member, "the values of another generation are wanted");
    }
    const bool is_worker = mirror_group_is_worker(worker);
    if (is_worker == group->is_able || worker->finished) { return; }
    if (is_worker || !orders->is_active) { set_able(worker, is_worker); }
}

static void report_to_head(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    const uint64_t held = worker->core.whole ? worker->core.generation : 0;
    if (!member_is_ready(group->member) || held == group->reported) { return; }
    group->reported = held;
    member_send(group->member, 0,
                (struct member_frame){.kind = MEMBER_FRAME_HOLDS, .label = {.generation = held}},
                NULL);
}

static uint64_t wait_log_due_ms(const struct mirror_worker *worker)
{
    const struct mirror_group *group = worker->group;
    const bool is_complete =
        is_head(group) ? mirror_group_is_worker(worker) : member_is_ready(group->member);
    if (is_complete && !group->orders.is_active) { return UINT64_MAX; }
    uint64_t since_ms = u64_max(group->wait_since_ms, group->wait_logged_at_ms);
    if (is_complete) { since_ms = u64_max(since_ms, worker->core.progress_ms); }
    return since_ms + MIRROR_WAIT_LOG_MS;
}

static void log_wait(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    uint32_t peer = 0;
    if (worker->now_ms < wait_log_due_ms(worker)) { return; }
    group->wait_logged_at_ms = worker->now_ms;
    while (peer < group->members && member_is_connected(group->member, peer)) { peer++; }
    if (peer < group->members) {
        log_info("waiting for worker:%" PRIu32 " (not connected) for %" PRIu64
                 " s: the group is not complete",
                 group->first_task + peer, (worker->now_ms - group->wait_since_ms) / 1000);
        return;
    }
    log_info("waiting for the members of the group (connected) since step=%" PRIu64
             " generation=%" PRIu64 ": %s",
             worker->core.step, worker->core.generation,
             group->orders.is_active ? "they compute" : "they fetch values");
}

/* -------------------------------------------------------------------- driver */

static void locate_members(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    for (uint32_t m = 0; m < group->members; m++) {
        const struct link *link = &worker->links.items[group->first_task + m];
        if (m == group->index) { continue; }
        member_locate(group->member, m, link->known ? link->address : NULL);
    }
}

bool mirror_group_transport(struct mirror_worker *worker, const struct transport_event *event)
{
    struct mirror_group *group = worker->group;
    bool taken = false;
    if (group == NULL) { return false; }
    const enum tn_status status =
        member_handle(group->member, event, worker->now_ms, &taken, &group->error);
    if (status != TN_OK) { failed(worker, status); }
    return taken;
}

void mirror_group_proceed(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    if (group == NULL || worker->finished) { return; }
    locate_members(worker);
    member_tick(group->member, worker->now_ms);
    if (is_head(group)) {
        settle(worker);
        continue_orders(worker);
    } else {
        report_to_head(worker);
        const enum tn_status status = member_resume(group->member, &group->error);
        if (status != TN_OK) { failed(worker, status); }
    }
    if (!worker->finished) { log_wait(worker); }
}

uint64_t mirror_group_deadline_ms(const struct mirror_worker *worker)
{
    if (worker->group == NULL) { return UINT64_MAX; }
    return u64_min(member_deadline_ms(worker->group->member), wait_log_due_ms(worker));
}

/* ---------------------------------------------------------------- open, close */

static enum tn_status open_member(struct mirror_worker *worker, struct error *error)
{
    struct mirror_group *group = worker->group;
    const struct member_calls calls = {.fill = fill,
                                       .prepare = prepare,
                                       .computed = computed,
                                       .done = done,
                                       .reset = reset,
                                       .ready = ready,
                                       .expects = expects,
                                       .message = take_message,
                                       .ctx = worker};
    const struct member_config config = member_config_of(&worker->config, &group->cut, &calls);
    return member_create(&config, &group->member, error);
}

enum tn_status mirror_group_open(struct mirror_worker *worker, struct error *error)
{
    const struct worker_config *config = &worker->config;
    const uint32_t members = strategy_members(config->job), task = config->identity.task.index;
    if (members == 1) { return TN_OK; }
    worker->group = calloc(1, sizeof *worker->group);
    if (worker->group == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a group"); }
    struct mirror_group *group = worker->group;
    group->members = members;
    group->index = task % members;
    group->first_task = task - group->index;
    enum tn_status status = training_cut_create(config->model->graph, members, &group->cut, error);
    if (status == TN_OK) {
        status = part_vector_open(&group->parts, &group->cut, &config->model->table, error);
    }
    if (status == TN_OK) {
        status =
            group_examples_open(&group->examples, config->job, config->train, config->test, error);
    }
    if (status != TN_OK) { return status; }
    group->values = buffer_acquire(worker->ports.buffers,
                                   (group->cut.floats[group->index] + 1) * sizeof(float));
    if (group->values == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for the variables of a member");
    }
    return open_member(worker, error);
}

void mirror_group_close(struct mirror_worker *worker)
{
    struct mirror_group *group = worker->group;
    if (group == NULL) { return; }
    member_destroy(group->member);
    group_examples_close(&group->examples);
    part_vector_close(&group->parts);
    training_cut_free(&group->cut);
    release_parts(group);
    buffer_release(group->sum);
    buffer_release(group->values);
    free(group);
    worker->group = NULL;
}
