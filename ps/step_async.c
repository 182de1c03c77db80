/* Async mode: each push of a slice is an update of its own. */
#include "ps/step_private.h"

#include <assert.h>
#include <string.h>

static bool too_far_ahead(const struct ps_step *s, uint64_t step)
{
    return step > s->step && step - s->step > s->config.max_staleness;
}

/* An ordered checkpoint is a barrier: what belongs behind it waits until it is taken. */
static bool behind_barrier(const struct ps_step *s, uint64_t step)
{
    return ps_save_pending(s) && step >= s->save_step && s->step <= s->save_step;
}

static bool blocked(const struct ps_step *s, uint64_t step)
{
    return s->applying || too_far_ahead(s, step) || behind_barrier(s, step);
}

static void set_step(struct ps_step *s)
{
    uint64_t least = s->clock[0];
    for (uint32_t v = 1; v < s->config.slices; v++) {
        if (s->clock[v] < least) { least = s->clock[v]; }
    }
    s->step = least;
}

static void begin_apply(struct ps_step *s, uint32_t slice, uint64_t step, struct ps_actions *out)
{
    assert(!s->applying);
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
    s->held_count[slice] = 1;
    s->parked_step[slice] = event->step;
    s->parked_conn[slice] = event->conn;
}

void ps_async_push(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    uint32_t slice = event->first;
    assert(event->count == 1 && slice < s->config.slices);
    bool outdone = s->held_count[slice] != 0 && event->step < s->parked_step[slice];
    bool being_applied =
        s->applying && s->applying_slice == slice && event->step <= s->applying_step;
    if (event->step < s->clock[slice] || outdone || being_applied) {
        ps_act(out, PS_DO_DROP);
        return;
    }
    if (event->step > s->clock[slice]) {
        /* Something of this slice before it is missing here: its owner looks where we are. */
        ps_act(out, PS_DO_DROP);
        ps_refuse(out, event->conn, REFUSAL_STEP_GONE);
        return;
    }
    struct ps_action *action = ps_act(out, PS_DO_HOLD);
    action->first = slice;
    action->count = 1;
    if (blocked(s, event->step)) {
        park(s, event);
    } else {
        s->held_count[slice] = 0;
        begin_apply(s, slice, event->step, out);
    }
}

void ps_async_pull(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    if (event->step == STEP_LATEST) {
        ps_answer(s, out, event->conn, event->round, s->step, false);
        return;
    }
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer == NULL) {
        ps_refuse(out, event->conn, REFUSAL_NOT_RUNNING);
        return;
    }
    /* Step 0 is what everybody starts with: there is nothing to wait for. */
    peer->wanted = event->step;
    peer->round = event->round;
    if (event->step == 0) { ps_answer(s, out, event->conn, event->round, 0, false); }
}

void ps_async_applied(struct ps_step *s, struct ps_actions *out)
{
    (void)out;
    if (s->clock[s->applying_slice] <= s->applying_step) {
        s->clock[s->applying_slice] = s->applying_step + 1;
    }
    set_step(s);
}

/* Does a push that comes before the values of `wanted` still wait? Later ones of the same worker,
 * from before it began anew, do not count. */
static bool has_parked(const struct ps_step *s, conn_id conn, uint64_t wanted)
{
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->held_count[v] == 0 || s->parked_conn[v].v != conn.v) { continue; }
        if (s->parked_step[v] < wanted) { return true; }
    }
    return false;
}

static void answer_pulls(struct ps_step *s, struct ps_actions *out)
{
    for (uint32_t i = 0; i < s->peer_count; i++) {
        struct ps_peer *peer = &s->peers[i];
        if (peer->wanted == 0 || too_far_ahead(s, peer->wanted)) { continue; }
        /* Where training ends, or stands for an evaluation, all contributions are in. */
        if (peer->wanted >= s->until && s->step < s->until) { continue; }
        if (has_parked(s, peer->conn, peer->wanted)) { continue; }
        ps_answer(s, out, peer->conn, peer->round, peer->wanted, false);
        peer->answered = peer->wanted;
        peer->wanted = 0;
    }
}

/* The parked push that is least far ahead, of the lowest slice; SLICES_MAX: none may go on. */
static uint32_t next_unblocked(const struct ps_step *s)
{
    uint32_t best = SLICES_MAX;
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->held_count[v] == 0 || blocked(s, s->parked_step[v])) { continue; }
        if (best == SLICES_MAX || s->parked_step[v] < s->parked_step[best]) { best = v; }
    }
    return best;
}

void ps_async_advance(struct ps_step *s, struct ps_actions *out)
{
    if (s->applying) { return; }
    ps_save_if_due(s, out);
    answer_pulls(s, out);
    uint32_t slice = next_unblocked(s);
    if (slice == SLICES_MAX) { return; }
    s->held_count[slice] = 0;
    s->parked_conn[slice] = (conn_id){0};
    begin_apply(s, slice, s->parked_step[slice], out);
}

void ps_async_loaded(struct ps_step *s, const uint64_t *clocks)
{
    for (uint32_t v = 0; v < s->config.slices; v++) {
        s->clock[v] = clocks != NULL && clocks[v] > s->step ? clocks[v] : s->step;
    }
    set_step(s);
}

/* What it pushed stays: it is as good as ever. */
void ps_async_conn_closed(struct ps_step *s, conn_id conn)
{
    for (uint32_t v = 0; v < s->config.slices; v++) {
        if (s->parked_conn[v].v == conn.v) { s->parked_conn[v] = (conn_id){0}; }
    }
}
