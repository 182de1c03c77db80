/* The frames of peers: questions for sums and values, and answers to our own. */
#include <assert.h>
#include <string.h>

#include "mirror/replica_private.h"

/* ---------------------------------------------------------------- questions */

/* M5. */
static void note_ahead(struct replica *r, uint32_t peer)
{
    assert(peer < r->config.workers);
    if (r->ahead != REPLICA_NONE && r->link_up[r->ahead]) { return; }
    r->ahead = (uint16_t)peer;
}

/* A question for the sum of the present step, or of the next one: it waits. */
static void wait_for_sum(struct replica *r, const struct replica_event *event,
                         struct replica_actions *out)
{
    assert(event->step == r->step || event->step == r->step + 1);
    const bool waits = replica_add_waiter(r, event->conn, event->range, event->step);
    struct replica_sum *sum = replica_sum_of(r, event->range, event->step);
    if (event->type == REPLICA_EV_PUSH && replica_hold(sum, event->node, REPLICA_NOT_OWN)) {
        struct replica_action *action = replica_act(out, REPLICA_DO_HOLD);
        action->range = event->range;
        action->step = event->step;
        action->node = event->node;
        replica_reduce(r, event->range, out);
    }
    if (waits) { return; }
    if (event->step == r->step && r->have[event->range]) {
        replica_answer(r, event->conn, event->range, event->step, out);
    } else { /* Its push is held: it asks again, and finds the sum. */
        replica_refuse(r, event->conn, event->range, REPLICA_NOT_HERE, out);
    }
}

void replica_on_question(struct replica *r, const struct replica_event *event,
                         struct replica_actions *out)
{
    const uint64_t step = event->step;
    const uint32_t range = event->range;
    assert(range < r->config.ranges);
    if (!r->whole || event->generation != r->generation) {
        replica_refuse(r, event->conn, range, REPLICA_NOT_HERE, out);
        return;
    }
    if (step > r->step) { note_ahead(r, event->peer); }
    if (step < r->kept_from) {
        replica_refuse(r, event->conn, range, REPLICA_GONE, out);
    } else if (step < r->step || (step == r->step && r->have[range])) {
        replica_answer(r, event->conn, range, step, out);
    } else if (step > r->step + 1) {
        replica_refuse(r, event->conn, range, REPLICA_NOT_HERE, out);
    } else if (r->owners[range] != r->config.index && !replica_is_relay(r, range)) {
        replica_refuse(r, event->conn, range, REPLICA_NOT_OWNER, out);
    } else {
        wait_for_sum(r, event, out);
    }
}

/* M7: only forwards. Else two that are behind would feed each other without end. */
void replica_on_pull_values(struct replica *r, const struct replica_event *event,
                            struct replica_actions *out)
{
    const bool is_further = event->step == STEP_NONE || r->step > event->step;
    assert(event->type == REPLICA_EV_PULL_VALUES);
    if (!r->whole || event->generation != r->generation || !is_further) {
        replica_refuse(r, event->conn, REPLICA_ALL_RANGES, REPLICA_NOT_HERE, out);
        return;
    }
    struct replica_action *action = replica_act(out, REPLICA_DO_SEND_VALUES);
    action->conn = event->conn;
    action->generation = r->generation;
    action->step = r->step;
}

/* ------------------------------------------------------------------ answers */

void replica_on_sum(struct replica *r, const struct replica_event *event,
                    struct replica_actions *out)
{
    assert(event->range < r->config.ranges);
    r->is_probed[event->peer] = false;
    if (!r->whole || event->generation != r->generation) { return; }
    if (event->step != r->step || r->have[event->range]) { return; }
    r->have[event->range] = true;
    struct replica_action *action = replica_act(out, REPLICA_DO_TAKE);
    action->range = event->range;
    action->generation = r->generation;
    action->step = r->step;
    replica_answer_waiters(r, event->range, out);
}

/* Gradients held for a step that is not over stay. */
static void drop_held(struct replica *r, uint64_t step, struct replica_actions *out)
{
    const bool is_next = r->whole && step == r->step + 1;
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        if (!is_next) { memset(replica_sum_of(r, range, step), 0, sizeof(struct replica_sum)); }
        memset(replica_sum_of(r, range, step + 1), 0, sizeof(struct replica_sum));
    }
    replica_act(out, REPLICA_DO_DROP)->step = is_next ? step : STEP_NONE;
}

/* Refuse the peers that wait for sums of steps that were skipped. */
static void refuse_waiters(struct replica *r, struct replica_actions *out)
{
    assert(r->kept_from == r->step);
    for (uint32_t i = 0; i < r->waiter_count;) {
        const struct replica_waiter waiter = r->waiters[i];
        if (waiter.step >= r->step) {
            i++;
            continue;
        }
        replica_remove_waiter(r, i);
        replica_refuse(r, waiter.conn, waiter.range, REPLICA_GONE, out);
    }
}

/* M7, M8. */
void replica_on_values(struct replica *r, const struct replica_event *event,
                       struct replica_actions *out)
{
    assert(event->step != STEP_NONE);
    if (r->donor == event->peer) { r->fetching = false; }
    if (event->generation != r->generation || !replica_is_active(r)) { return; }
    if (replica_is_busy(r) || (r->whole && event->step <= r->step)) { return; }
    if (replica_gate(r) != 0 && event->step > replica_gate(r)) { return; }
    drop_held(r, event->step, out);
    replica_forget_step(r, out);
    r->whole = true;
    r->step = r->kept_from = event->step;
    r->progress_ms = r->now_ms;
    refuse_waiters(r, out);
    struct replica_action *action = replica_act(out, REPLICA_DO_ADOPT);
    action->generation = r->generation;
    action->step = r->step;
    for (uint32_t range = 0; range < r->config.ranges; range++) { replica_reduce(r, range, out); }
}

static void values_refused(struct replica *r, uint32_t peer)
{
    if (!r->fetching || r->donor != peer) { return; }
    r->fetching = false;
    r->fetch_at_ms = r->now_ms + REPLICA_RETRY_MS;
    r->donor = (uint16_t)((r->donor + 1) % r->config.workers);
}

void replica_on_refused(struct replica *r, const struct replica_event *event)
{
    assert(event->peer < r->config.workers);
    r->is_probed[event->peer] = false;
    if (event->range == REPLICA_ALL_RANGES) { values_refused(r, event->peer); }
    if (!r->whole) { return; }
    if (event->generation == r->generation && event->step > r->step) {
        note_ahead(r, event->peer);
        if (event->refusal == REPLICA_GONE) {
            r->is_behind = true;
            /* The answer of the present donor must still find its question. */
            if (!r->fetching) { r->donor = (uint16_t)event->peer; }
        }
    }
    if (event->range >= r->config.ranges) { return; }
    struct replica_ask *ask = &r->asks[event->range];
    if (ask->to != event->peer) { return; }
    replica_turn_to(ask, REPLICA_NONE);
    ask->is_direct = true;
    ask->again_ms = r->now_ms + REPLICA_RETRY_MS;
}
