/* The questions to peers: pushes and pulls for the sums of the present step, and values. */
#include <assert.h>

#include "mirror/replica_private.h"

static bool is_reachable(const struct replica *r, uint32_t worker)
{
    assert(worker < r->config.workers || worker == REPLICA_NONE);
    return worker != REPLICA_NONE && worker != r->config.index && r->link_up[worker];
}

static void pull(const struct replica *r, uint32_t range, uint32_t peer,
                 struct replica_actions *out)
{
    struct replica_action *action = replica_act(out, REPLICA_DO_PULL);
    assert(is_reachable(r, peer));
    action->peer = peer;
    action->range = range;
    action->generation = r->generation;
    action->step = r->step;
}

static void push(struct replica *r, uint32_t range, struct replica_actions *out)
{
    struct replica_ask *ask = &r->asks[range];
    struct replica_action *action = replica_act(out, REPLICA_DO_PUSH);
    assert(ask->sent < r->node_count);
    action->peer = ask->to;
    action->range = range;
    action->generation = r->generation;
    action->step = r->step;
    action->first_node = ask->sent;
    action->node_count = r->node_count - ask->sent;
    ask->sent = (uint16_t)r->node_count;
}

/* The own gradients of an owner or a relay are terms of the sum as they are. */
static void hold_own(struct replica *r, uint32_t range, struct replica_actions *out)
{
    struct replica_ask *ask = &r->asks[range];
    struct replica_sum *sum = replica_sum_of(r, range, r->step);
    assert(!r->computing);
    for (; ask->held < r->node_count; ask->held++) {
        (void)replica_hold(sum, r->nodes[ask->held], ask->held);
    }
    replica_reduce(r, range, out);
}

void replica_turn_to(struct replica_ask *ask, uint32_t peer)
{
    assert(peer < WORKERS_MAX || peer == REPLICA_NONE);
    *ask = (struct replica_ask){.to = (uint16_t)peer,
                                .held = ask->held,
                                .is_direct = ask->is_direct,
                                .since_ms = ask->since_ms};
}

/* The worker to ask for the sum, or REPLICA_NONE; `*pushes`: by a push. */
static uint32_t choose_peer(struct replica *r, uint32_t range, bool *pushes)
{
    struct replica_ask *ask = &r->asks[range];
    const uint32_t owner = r->owners[range], relay = r->relays[range];
    *pushes = r->node_count > 0 || (r->is_able && slice_set_count(&r->owned) > 0);
    if (*pushes && relay != REPLICA_NONE && relay != r->config.index) {
        const bool is_late = r->now_ms >= replica_relay_due_ms(r, range);
        ask->is_direct = ask->is_direct || is_late || !is_reachable(r, relay);
        if (!ask->is_direct) { return relay; }
    }
    if (is_reachable(r, owner)) { return owner; }
    *pushes = false;
    return is_reachable(r, r->ahead) ? r->ahead : REPLICA_NONE;
}

void replica_ask(struct replica *r, uint32_t range, struct replica_actions *out)
{
    struct replica_ask *ask = &r->asks[range];
    const bool is_relay = replica_is_relay(r, range);
    bool pushes;
    assert(range < r->config.ranges);
    if (r->have[range]) { return; }
    const bool collects = is_relay || r->owners[range] == r->config.index;
    if (collects && !r->computing) { hold_own(r, range, out); }
    replica_note_ready(r, range);
    if (r->have[range] || r->now_ms < ask->again_ms) { return; }
    const uint32_t peer = choose_peer(r, range, &pushes);
    if (peer == REPLICA_NONE) { return; }
    if (ask->to != peer) { replica_turn_to(ask, peer); }
    if (is_relay && peer == r->owners[range]) { replica_forward(r, range, out); }
    if (!pushes && !ask->pulled) {
        ask->pulled = true;
        pull(r, range, peer, out);
    } else if (pushes && !is_relay && ask->sent < r->node_count && !r->computing) {
        push(r, range, out);
    }
}

void replica_ask_around(struct replica *r, struct replica_actions *out)
{
    const bool is_due = r->probe_at_ms != 0 && r->now_ms >= r->probe_at_ms;
    if (r->probe_at_ms == 0 || is_due) { r->probe_at_ms = r->now_ms + REPLICA_RETRY_MS; }
    if (r->computing) { r->probe_at_ms = 0; /* Its own gradients come first. */ }
    if (!is_due || r->computing) { return; }
    /* A busy peer would have ever more questions to answer before it reads anything else. */
    for (uint32_t i = 0; i < r->config.workers; i++) {
        r->probed = (uint16_t)((r->probed + 1) % r->config.workers);
        if (is_reachable(r, r->probed) && !r->is_probed[r->probed]) { break; }
    }
    if (!is_reachable(r, r->probed) || r->is_probed[r->probed]) { return; }
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        if (r->owners[range] != r->config.index || r->have[range]) { continue; }
        pull(r, range, r->probed, out);
        r->is_probed[r->probed] = true;
    }
}

void replica_fetch(struct replica *r, struct replica_actions *out)
{
    if (!replica_is_active(r) || r->fetching || replica_is_busy(r)) { return; }
    if ((r->whole && !r->is_behind) || r->now_ms < r->fetch_at_ms) { return; }
    for (uint32_t i = 0; i < r->config.workers; i++) {
        const uint32_t peer = (r->donor + i) % r->config.workers;
        if (!is_reachable(r, peer)) { continue; }
        struct replica_action *action = replica_act(out, REPLICA_DO_PULL_VALUES);
        action->peer = peer;
        action->generation = r->generation;
        action->step = r->whole ? r->step : STEP_NONE;
        r->donor = (uint16_t)peer;
        r->fetching = true;
        return;
    }
}
