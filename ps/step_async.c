/* Async (P5): each push is of one slice and an update of its own. */
#include "ps/step_private.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

static bool too_far_ahead(const struct ps_step *s, uint64_t step)
{
    return step > s->step && step - s->step > s->config.max_staleness;
}

/* An ordered checkpoint is a barrier: contributions at or above its step wait until it is saved. */
static bool behind_barrier(const struct ps_step *s, uint64_t step)
{
    return ps_save_pending(s) && step >= s->save_step && s->step <= s->save_step;
}

/* So is a multiple of the interval that is neither ordered nor skipped yet. */
static bool behind_due(const struct ps_step *s, uint64_t step)
{
    return s->save_due != 0 && step >= s->save_due && s->generation == s->ordered_generation;
}

/* The end as well, also after it is saved: a worker that had not read of it yet may push beyond.
 * The last evaluation is of the values that were saved, and a push that waits does not move the
 * end. */
static bool behind_end(const struct ps_step *s, uint64_t step)
{
    return step >= s->until && s->generation == s->ordered_generation;
}

static bool blocked(const struct ps_step *s, uint64_t step)
{
    return s->applying || too_far_ahead(s, step) || behind_barrier(s, step) ||
           behind_due(s, step) || behind_end(s, step) || ps_gate_is_closed(s, step);
}

static void note_wait(struct ps_step *s)
{
    s->waits_for_checkpoint = 0;
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->held_count[v] != 0 && behind_due(s, s->parked_step[v])) {
            s->waits_for_checkpoint = s->save_due;
        }
    }
}

static void set_step(struct ps_step *s)
{
    uint64_t lowest = s->clock[0];
    for (uint32_t v = 1; v < s->config.slices; v++) { lowest = u64_min(lowest, s->clock[v]); }
    assert(lowest >= s->step);
    s->step = lowest;
}

static void begin_apply(struct ps_step *s, uint32_t slice, uint64_t step, struct ps_actions *out)
{
    assert(!s->applying);
    assert(slice < s->config.slices);
    assert(step == s->clock[slice]);
    assert(out->part_count == 0);
    s->applying = true;
    s->applying_slice = slice;
    s->applying_step = step;
    out->parts[0] = (struct slice_node){slice, 1};
    out->part_count = 1;
    ps_act(out, PS_DO_APPLY)->step = step;
}

static void park(struct ps_step *s, const struct ps_event *event)
{
    uint32_t slice = event->first;
    assert(event->step == s->clock[slice]);
    s->held_count[slice] = 1;
    s->parked_step[slice] = event->step;
    s->parked_conn[slice] = event->conn;
}

static void push(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->generation == s->generation);
    uint32_t slice = event->first;
    assert(event->count == 1);
    assert(slice < s->config.slices);
    bool being_applied =
        s->applying && s->applying_slice == slice && event->step <= s->applying_step;
    if (event->step < s->clock[slice] || being_applied) {
        ps_drop(out, event->conn);
        return;
    }
    if (event->step > s->clock[slice]) {
        /* An earlier contribution of this slice is missing: its owner must gather again. */
        ps_drop(out, event->conn);
        ps_refuse(out, event->conn, REFUSAL_STEP_GONE);
        return;
    }
    if (s->held_count[slice] != 0) {
        /* The first one counts, as on a ps that has applied it: all apply the same one. The sender
         * waits for it. */
        s->parked_conn[slice] = event->conn;
        ps_drop(out, event->conn);
        return;
    }
    struct ps_action *action = ps_act(out, PS_DO_HOLD);
    action->conn = event->conn;
    action->first = slice;
    action->count = 1;
    if (blocked(s, event->step)) {
        park(s, event);
    } else {
        begin_apply(s, slice, event->step, out);
    }
}

static void pull(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->generation == s->generation);
    if (event->step == STEP_LATEST) {
        ps_answer(s, out, event->conn, event->round, s->step, VALUES_CURRENT);
        return;
    }
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer == NULL) {
        ps_refuse(out, event->conn, REFUSAL_NOT_RUNNING);
        return;
    }
    /* All workers start with step 0, so it is answered at once. */
    peer->wanted = event->step;
    peer->round = event->round;
    peer->epoch = event->epoch;
    peer->revision = event->revision;
    peer->last = event->last;
    if (event->step == 0) { ps_answer(s, out, event->conn, event->round, 0, VALUES_CURRENT); }
}

/* Whether a push of this connection below step `wanted` is parked. Later ones do not count: the
 * worker sent them before it gathered again. */
static bool has_parked(const struct ps_step *s, conn_id conn, uint64_t wanted)
{
    assert(conn.v != 0);
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->held_count[v] == 0 || s->parked_conn[v].v != conn.v) { continue; }
        if (s->parked_step[v] < wanted) { return true; }
    }
    return false;
}

/* Whether rows can be sent to a connection that looks up those of `step`: under the conditions of a
 * pull, so that they are at most as old as its values. The ends of training and evaluations need no
 * condition, because the values of the step were pulled before. */
static bool may_look_up(const struct ps_step *s, conn_id conn, uint64_t step)
{
    return !s->applying && !too_far_ahead(s, step) && !has_parked(s, conn, step);
}

static void lookup(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->generation == s->generation);
    const struct ps_lookup asked = {event->step, event->round, event->first, false};
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer == NULL) {
        ps_refuse(out, event->conn, REFUSAL_NOT_RUNNING);
        return;
    }
    peer->lookup = (struct ps_lookup){0};
    if (may_look_up(s, event->conn, event->step)) {
        ps_answer_lookup(s, event->conn, &asked, out);
    } else {
        peer->lookup = asked;
        peer->lookup.waits = true;
        ps_act(out, PS_DO_KEEP_LOOKUP)->conn = event->conn;
    }
}

static void answer_lookups(struct ps_step *s, struct ps_actions *out)
{
    for (uint32_t i = 0; i < s->peer_count; i++) {
        struct ps_peer *peer = &s->peers[i];
        if (!peer->lookup.waits || !may_look_up(s, peer->conn, peer->lookup.step)) { continue; }
        ps_answer_lookup(s, peer->conn, &peer->lookup, out);
        peer->lookup = (struct ps_lookup){0};
    }
}

static void applied(struct ps_step *s, struct ps_actions *out)
{
    (void)out;
    assert(s->applying_slice < s->config.slices);
    if (s->clock[s->applying_slice] <= s->applying_step) {
        s->clock[s->applying_slice] = s->applying_step + 1;
    }
    set_step(s);
}

/* At the end of training all contributions must be applied, because the last values are evaluated;
 * also while a gate below the end, beyond which some slices may be, has another limit. */
static bool lacks_contributions(const struct ps_step *s, uint64_t wanted)
{
    return (wanted >= s->until && s->step < s->until) || (wanted >= s->end && s->step < s->end);
}

/* Whether the worker waits by an order that this ps has not read yet. */
static bool follows_newer_order(const struct ps_step *s, const struct ps_peer *peer)
{
    assert(peer->wanted != 0);
    return peer->epoch > s->epoch || (peer->epoch == s->epoch && peer->revision > s->revision);
}

static void answer_pulls(struct ps_step *s, struct ps_actions *out)
{
    assert(!s->applying);
    for (uint32_t i = 0; i < s->peer_count; i++) {
        struct ps_peer *peer = &s->peers[i];
        if (peer->wanted == 0 || too_far_ahead(s, peer->wanted)) { continue; }
        if (lacks_contributions(s, peer->wanted)) { continue; }
        if ((peer->wanted > s->until || peer->last) && follows_newer_order(s, peer)) { continue; }
        if (has_parked(s, peer->conn, peer->wanted)) { continue; }
        ps_answer(s, out, peer->conn, peer->round, peer->wanted, VALUES_CURRENT);
        peer->answered = peer->wanted;
        peer->wanted = 0;
    }
}

/* The slice of the parked push to apply next: of the lowest step, then of the lowest number.
 * SLICES_MAX: none can be applied now. */
static uint32_t next_unblocked(const struct ps_step *s)
{
    assert(!s->applying);
    uint32_t best = SLICES_MAX;
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->held_count[v] == 0 || blocked(s, s->parked_step[v])) { continue; }
        if (best == SLICES_MAX || s->parked_step[v] < s->parked_step[best]) { best = v; }
    }
    return best;
}

static void apply_parked(struct ps_step *s, struct ps_actions *out)
{
    assert(s->generation != 0);
    note_wait(s);
    if (s->applying) { return; }
    ps_save_if_due(s, out);
    answer_pulls(s, out);
    answer_lookups(s, out);
    uint32_t slice = next_unblocked(s);
    if (slice == SLICES_MAX) { return; }
    s->held_count[slice] = 0;
    s->parked_conn[slice] = (conn_id){0};
    begin_apply(s, slice, s->parked_step[slice], out);
}

static void advance(struct ps_step *s, struct ps_actions *out)
{
    apply_parked(s, out);
    ps_save_if_due(s, out);
}

static bool is_past(const struct ps_step *s, uint64_t step)
{
    assert(s->generation != 0);
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->clock[v] > step) { return true; }
    }
    return false;
}

static void loaded(struct ps_step *s, const uint64_t *clocks)
{
    assert(!s->applying);
    for (uint32_t v = 0; v < s->config.slices; v++) {
        s->clock[v] = clocks != NULL ? u64_max(clocks[v], s->step) : s->step;
    }
    set_step(s);
}

/* Its parked pushes stay, because they are still valid. */
static void conn_closed(struct ps_step *s, conn_id conn)
{
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->parked_conn[v].v == conn.v) { s->parked_conn[v] = (conn_id){0}; }
    }
}

const struct ps_strategy ps_strategy_async = {
    .push = push,
    .pull = pull,
    .lookup = lookup,
    .applied = applied,
    .advance = advance,
    .is_past = is_past,
    .loaded = loaded,
    .conn_closed = conn_closed,
};
