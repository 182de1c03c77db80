/* Sync: all slices of a step are one update (P3, P4, P17). */
#include "ps/step_private.h"

#include <assert.h>
#include <string.h>

static void await(struct ps_step *s, const struct ps_event *event, uint64_t step,
                  struct ps_actions *out)
{
    assert(step == s->step + 1);
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer == NULL) {
        ps_refuse(out, event->conn, REFUSAL_NOT_RUNNING);
        return;
    }
    peer->round = event->round;
    peer->wanted = step;
}

/* A push of a step that was already applied: the answer is the values of that step, unless they are
 * no longer kept. */
static void answer_late(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->step < s->step);
    uint64_t step = event->step + 1;
    bool previous = step + 1 == s->step && s->has_previous;
    if (step != s->step && !previous) {
        ps_refuse(out, event->conn, REFUSAL_STEP_GONE);
        return;
    }
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer != NULL && peer->answered == step) { return; }
    if (peer != NULL) { peer->answered = step; }
    ps_answer(s, out, event->conn, event->round, step, previous ? VALUES_PREVIOUS : VALUES_CURRENT);
}

/* The sum of the new node includes the held nodes below it. */
static void replace_nested(struct ps_step *s, struct slice_node node, struct ps_actions *out)
{
    assert(node.first + node.count <= s->config.slices);
    for (uint32_t i = node.first; i < node.first + node.count; i++) {
        if (s->held_count[i] == 0) { continue; }
        assert(i + s->held_count[i] <= node.first + node.count);
        s->held_count[i] = 0;
        if (i != node.first) { ps_act(out, PS_DO_RELEASE)->first = i; }
    }
}

static void hold(struct ps_step *s, conn_id conn, struct slice_node node, struct ps_actions *out)
{
    assert(node.count >= 1);
    replace_nested(s, node, out);
    slice_set_add(&s->covered, node);
    lateness_arrived(&s->lateness, slice_set_count(&s->covered), s->config.slices, s->now_ms);
    s->held_count[node.first] = node.count;
    struct ps_action *action = ps_act(out, PS_DO_HOLD);
    action->conn = conn;
    action->first = node.first;
    action->count = node.count;
}

static void keep(const struct ps_step *s, struct ps_actions *out, enum ps_values values)
{
    assert(values == VALUES_EVALUATION || values == VALUES_CHECKPOINT);
    struct ps_action *action = ps_act(out, PS_DO_KEEP);
    action->values = values;
    action->step = s->step;
}

/* An order arrived: release the kept arrays that it makes superfluous. */
static void release_kept(struct ps_step *s, struct ps_actions *out)
{
    uint64_t evaluation = s->kept_evaluation, checkpoint = s->kept_checkpoint;
    if (s->generation != s->ordered_generation) { return; }
    if (evaluation != 0 && s->evaluate_step > evaluation) {
        s->kept_evaluation = 0;
        ps_act(out, PS_DO_UNKEEP)->values = VALUES_EVALUATION;
    }
    const bool ordered =
        (ps_save_pending(s) && s->save_step == checkpoint) || ps_awaits_save(s, checkpoint);
    if (checkpoint != 0 && (s->save_due == 0 || s->save_due > checkpoint) && !ordered) {
        s->kept_checkpoint = 0;
        ps_act(out, PS_DO_UNKEEP)->values = VALUES_CHECKPOINT;
    }
}

/* P9: whether the next update would drop the values of a step that is neither ordered to be saved
 * nor skipped, or that must be saved and is not. */
static bool waits_for_order(const struct ps_step *s)
{
    return s->kept_checkpoint != 0 && step_is_multiple(s->step, s->config.checkpoint_every) &&
           !s->begun;
}

/* The present step may have to be evaluated or saved after the update. */
static void keep_multiples(struct ps_step *s, struct ps_actions *out)
{
    assert(!waits_for_order(s));
    if (s->begun) { return; } /* The former process has done so. */
    if (step_is_multiple(s->step, s->config.evaluate_every) && s->evaluate_step <= s->step) {
        s->kept_evaluation = s->step;
        keep(s, out, VALUES_EVALUATION);
    }
    const bool due = s->save_due != 0 && s->save_due <= s->step;
    if (step_is_multiple(s->step, s->config.checkpoint_every) &&
        (due || ps_awaits_save(s, s->step))) {
        s->kept_checkpoint = s->step;
        keep(s, out, VALUES_CHECKPOINT);
    }
}

void ps_sync_list(const struct ps_step *s, struct ps_actions *out)
{
    assert(out->part_count == 0);
    for (uint32_t i = 0; i < s->config.slices; i++) {
        if (s->held_count[i] == 0) { continue; }
        out->parts[out->part_count++] = (struct slice_node){i, s->held_count[i]};
    }
}

/* Apply the chunks that all slices have, if nothing forbids the next step (P17). */
static void apply_chunks(struct ps_step *s, struct ps_actions *out)
{
    const uint32_t ready = ps_parts_ready(s);
    if (ready == 0 || waits_for_order(s) || ps_gate_is_closed(s, s->step)) { return; }
    keep_multiples(s, out);
    ps_parts_list(s, ready, out);
    s->begun = s->applying = true;
    s->has_previous = false;
    s->parts_applying = ready;
    struct ps_action *action = ps_act(out, PS_DO_APPLY_CHUNKS);
    action->step = s->step;
    action->count = ready;
}

/* Apply the held pushes if they are complete and nothing forbids the next step. */
static void apply_if_complete(struct ps_step *s, struct ps_actions *out)
{
    assert(s->generation != 0);
    s->waits_for_checkpoint = 0;
    if (s->applying) { return; }
    if (slice_set_count(&s->covered) < s->config.slices) {
        apply_chunks(s, out);
        return;
    }
    /* Measure even if this ps has to wait: the others need its part. */
    bool has_norm = ps_norm_known(s, out);
    if (waits_for_order(s)) {
        s->waits_for_checkpoint = s->kept_checkpoint;
        return;
    }
    if (!has_norm || ps_gate_is_closed(s, s->step)) { return; }
    keep_multiples(s, out);
    ps_sync_list(s, out);
    memset(s->held_count, 0, sizeof s->held_count);
    s->applying = true;
    ps_act(out, PS_DO_APPLY)->step = s->step;
}

static void push(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->generation == s->generation);
    assert(event->count >= 1);
    assert(event->first + event->count <= s->config.slices);
    struct slice_node node = {event->first, event->count};
    if (event->step < s->step) {
        ps_drop(out, event->conn);
        answer_late(s, event, out);
    } else if (event->step > s->step) {
        /* The values are of a generation of the same number that no other node remembers (C11): the
         * worker must gather again. */
        ps_drop(out, event->conn);
        ps_refuse(out, event->conn, REFUSAL_STEP_GONE);
    } else {
        await(s, event, s->step + 1, out);
        if (slice_set_has_all(&s->covered, node)) {
            ps_drop(out, event->conn);
            return;
        }
        hold(s, event->conn, node, out);
    }
}

static void pull(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->generation == s->generation);
    uint64_t step = event->step == STEP_LATEST ? s->step : event->step;
    /* A worker that pulls starts over: it may have dropped earlier answers, and it ignores the
     * answer that it waited for. */
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer != NULL) {
        peer->answered = peer->wanted = peer->grown = 0;
        peer->by_lane = event->by_lane;
    }
    if (step == s->step) {
        ps_answer(s, out, event->conn, event->round, step, VALUES_CURRENT);
    } else if (step + 1 == s->step && s->has_previous) {
        ps_answer(s, out, event->conn, event->round, step, VALUES_PREVIOUS);
    } else if (step != 0 && step == s->kept_evaluation) {
        ps_answer(s, out, event->conn, event->round, step, VALUES_EVALUATION);
    } else if (step == s->step + 1) {
        await(s, event, step, out);
    } else {
        ps_refuse(out, event->conn, REFUSAL_STEP_GONE);
    }
}

/* P14: rows of the steps whose values can be pulled. */
static void lookup(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(event->generation == s->generation);
    const uint64_t step = event->step;
    const bool previous = step + 1 == s->step && s->has_previous;
    const bool kept = step != 0 && step == s->kept_evaluation;
    const struct ps_lookup asked = {step, event->round, event->first, false};
    struct ps_peer *peer = ps_peer_of(s, event->conn);
    if (peer == NULL) {
        ps_refuse(out, event->conn, REFUSAL_NOT_RUNNING);
        return;
    }
    peer->lookup = (struct ps_lookup){0};
    if (step == s->step || previous || kept) {
        ps_answer_lookup(s, event->conn, &asked, out);
    } else if (step == s->step + 1) {
        peer->lookup = asked;
        peer->lookup.waits = true;
        ps_act(out, PS_DO_KEEP_LOOKUP)->conn = event->conn;
    } else {
        ps_refuse(out, event->conn, REFUSAL_STEP_GONE);
    }
}

static void answer_waiting(struct ps_step *s, struct ps_peer *peer, struct ps_actions *out)
{
    if (ps_parts_answer_rest(s, peer, out)) { return; }
    if (peer->wanted != 0 && peer->wanted <= s->step) {
        peer->wanted = 0;
        peer->answered = s->step;
        ps_answer(s, out, peer->conn, peer->round, s->step, VALUES_CURRENT);
    }
    if (peer->lookup.waits && peer->lookup.step <= s->step) {
        ps_answer_lookup(s, peer->conn, &peer->lookup, out);
        peer->lookup = (struct ps_lookup){0};
    }
}

static void applied(struct ps_step *s, struct ps_actions *out)
{
    assert(!s->applying);
    if (s->parts_applying != 0) {
        ps_parts_applied(s, out);
        return;
    }
    s->step++;
    s->begun = false;
    s->has_previous = true;
    s->parts_done = 0;
    ps_norm_applied(s);
    memset(&s->covered, 0, sizeof s->covered);
    if (s->phase == RUN_RUNNING) { lateness_begin(&s->lateness, s->now_ms); }
    for (uint32_t i = 0; i < s->peer_count; i++) { answer_waiting(s, &s->peers[i], out); }
}

static void advance(struct ps_step *s, struct ps_actions *out)
{
    /* First the save: the update replaces the arrays. */
    ps_save_if_due(s, out);
    release_kept(s, out);
    apply_if_complete(s, out);
}

static bool is_past(const struct ps_step *s, uint64_t step)
{
    assert(s->generation != 0);
    return s->step + s->begun > step;
}

/* The state of a sync step is its number. */
static void loaded(struct ps_step *s, const uint64_t *clocks)
{
    (void)clocks;
    assert(!s->applying);
}

/* The pushes of a connection stay valid. */
static void conn_closed(struct ps_step *s, conn_id conn)
{
    (void)s;
    assert(conn.v != 0);
}

const struct ps_strategy ps_strategy_sync = {
    .push = push,
    .pull = pull,
    .lookup = lookup,
    .applied = applied,
    .advance = advance,
    .is_past = is_past,
    .loaded = loaded,
    .conn_closed = conn_closed,
};
