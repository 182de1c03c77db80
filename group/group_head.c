/* The head of a group: the training loop decides, and the members carry out its actions. */
#include <assert.h>
#include <string.h>

#include "common/faults/failpoint.h"
#include "group/group_private.h"
#include "worker/compute.h"
#include "worker/ps_frames.h"

/* ------------------------------------------------------------------ actions */

/* Let the owner of a ps send it a frame. */
static void ask(struct group_worker *worker, uint32_t ps, struct frame_header header)
{
    const uint32_t owner = group_owner_of(worker, ps);
    if (owner == 0) {
        group_values_send(worker, ps, header);
        return;
    }
    struct buffer *body = buffer_acquire(worker->ports.buffers, WIRE_HEADER_BYTES);
    if (body == NULL) {
        (void)error_set(&worker->error, TN_ENOMEM, "out of memory for a message of the group");
        group_failed(worker, TN_ENOMEM);
        return;
    }
    wire_encode_header(&header, body->data);
    body->size = WIRE_HEADER_BYTES;
    member_send(worker->member, owner,
                (struct member_frame){.kind = MEMBER_FRAME_RELAY, .number = ps}, body);
}

static void push(struct group_worker *worker, const struct loop_action *action)
{
    const uint32_t end = action->first_node + action->node_count;
    for (uint32_t node = action->first_node; node < end && !worker->finished; node++) {
        ask(worker, action->ps, ps_frames_push(&worker->core, action, node));
    }
}

static void take(struct group_worker *worker, uint32_t ps)
{
    const uint32_t owner = group_owner_of(worker, ps);
    const struct value_label label = worker->feeding;
    if (owner != 0) {
        const struct member_frame message = {
            .kind = MEMBER_FRAME_TAKE,
            .label = {.generation = label.generation, .step = label.step},
            .number = ps,
        };
        member_send(worker->member, owner, message, NULL);
    } else if (!group_values_take(worker, ps, label)) {
        assert(!"an answer is being handled");
    }
}

static void swap_values(struct group_worker *worker, const struct loop_action *action)
{
    const struct value_label label = {worker->core.generation, action->step};
    const struct member_frame message = {
        .kind = MEMBER_FRAME_SWAP,
        .label = {.generation = label.generation, .step = label.step},
    };
    for (uint32_t m = 1; m < worker->members; m++) {
        member_send(worker->member, m, message, NULL);
    }
    const bool swapped = group_values_swap(worker, label);
    assert(swapped);
}

/* ------------------------------------------------------------------- orders */

static void order_next(struct group_worker *worker)
{
    struct group_orders *orders = &worker->orders;
    const struct slice_node node = orders->nodes[orders->next++];
    orders->slices += node.count;
    FAILPOINT("group.before_order");
    const enum tn_status status =
        member_order(worker->member, orders->generation, orders->step, node, &worker->error);
    if (status != TN_OK) { group_failed(worker, status); }
}

static void compute(struct group_worker *worker, const struct loop_action *action)
{
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    assert(!worker->orders.is_active && action->node_count >= 1);
    worker->orders = (struct group_orders){
        .is_active = true,
        .generation = action->generation,
        .step = action->step,
        .count = action->node_count,
        .since_ns = stopwatch->read_ns(stopwatch->ctx, 0),
    };
    memcpy(worker->orders.nodes, &worker->core.nodes[action->first_node],
           action->node_count * sizeof worker->orders.nodes[0]);
    order_next(worker);
}

/* The members compute one after the other; the head measures its own part alone, which is about as
 * long as those of the others. */
static void expect_evaluation(struct group_worker *worker)
{
    const struct dataset *test = worker->config.test;
    const uint64_t chunk = compute_slice_examples(worker->config.job);
    const uint64_t chunks = test != NULL ? (test->examples + chunk - 1) / chunk : 0;
    assert(chunk >= 1 && worker->members >= 2);
    evaluation_timer_add(&worker->evaluation_timer,
                         chunks * worker->members * slice_timer_ns(&worker->timer));
}

void group_head_continue(struct group_worker *worker)
{
    struct group_orders *orders = &worker->orders;
    const struct stopwatch_port *stopwatch = &worker->ports.stopwatch;
    while (orders->is_active && orders->is_done && !worker->finished) {
        orders->is_done = false;
        if (orders->next < orders->count) {
            order_next(worker);
            continue;
        }
        orders->is_active = false;
        const uint64_t now_ns = stopwatch->read_ns(stopwatch->ctx, orders->slices);
        slice_timer_add(&worker->timer, orders->slices, now_ns - orders->since_ns);
        expect_evaluation(worker);
        group_feed(worker, (struct loop_event){.type = LOOP_EV_COMPUTED});
    }
}

/* --------------------------------------------------------------------- core */

static void carry_out(struct group_worker *worker, const struct loop_action *action)
{
    switch (action->type) {
    case LOOP_DO_TAKE: take(worker, action->ps); break;
    case LOOP_DO_SWAP: swap_values(worker, action); break;
    case LOOP_DO_FORGET: group_values_forget(worker); break;
    case LOOP_DO_COMPUTE: compute(worker, action); break;
    case LOOP_DO_PUSH: push(worker, action); break;
    case LOOP_DO_PULL: ask(worker, action->ps, ps_frames_pull(action)); break;
    case LOOP_DO_EVALUATE: group_evaluate_begin(worker, action); break;
    case LOOP_DO_LIST:
    case LOOP_DO_LOOKUP: assert(!"a group has no tables"); break;
    }
}

/* An action may end in an event for the core, which is handled when all actions are carried out. */
void group_feed(struct group_worker *worker, struct loop_event event)
{
    assert(group_is_head(worker));
    event.now_ms = worker->now_ms;
    training_loop_handle(&worker->core, &event, &worker->actions);
    const struct loop_actions actions = worker->actions;
    for (uint32_t i = 0; i < actions.count && !worker->finished; i++) {
        carry_out(worker, &actions.items[i]);
    }
}

void group_head_answer(struct group_worker *worker, uint32_t ps, const struct frame_header *header)
{
    worker->feeding = (struct value_label){header->generation, header->step};
    group_feed(worker, ps_frames_answer(ps, header));
}
