#include "ps/step_private.h"

#include <assert.h>
#include <string.h>

/*
 * The functions that change the state:
 *
 *   order()        an order to load another generation   SERVING, NOTHING -> LOADING
 *   loaded()       it is still wanted                    LOADING -> SERVING
 *                  another generation is wanted by now   LOADING -> LOADING
 *   load_failed()  it is still wanted                    LOADING -> NOTHING
 *                  another generation is wanted by now   LOADING -> LOADING
 *
 * SERVING means generation != 0, LOADING means loading_generation != 0; never both.
 */

static const struct ps_strategy *const strategies[] = {
    [STRATEGY_PS_SYNC] = &ps_strategy_sync,
    [STRATEGY_PS_ASYNC] = &ps_strategy_async,
};

struct ps_action *ps_act(struct ps_actions *out, enum ps_action_type type)
{
    assert(out->count < PS_ACTIONS_MAX);
    struct ps_action *action = &out->items[out->count++];
    *action = (struct ps_action){.type = type};
    return action;
}

void ps_refuse(struct ps_actions *out, conn_id conn, enum refusal why)
{
    assert(conn.v != 0);
    struct ps_action *action = ps_act(out, PS_DO_REFUSE);
    action->conn = conn;
    action->refusal = why;
}

void ps_drop(struct ps_actions *out, conn_id conn)
{
    assert(conn.v != 0);
    ps_act(out, PS_DO_DROP)->conn = conn;
}

void ps_answer(const struct ps_step *s, struct ps_actions *out, conn_id conn, uint64_t round,
               uint64_t step, enum ps_values values)
{
    assert(conn.v != 0);
    assert(s->generation != 0);
    assert(values == VALUES_CURRENT || s->strategy == &ps_strategy_sync);
    assert(values != VALUES_PREVIOUS || s->has_previous);
    struct ps_action *action = ps_act(out, PS_DO_ANSWER);
    action->conn = conn;
    action->generation = s->generation;
    action->step = step;
    action->values = values;
    action->round = round;
}

void ps_answer_lookup(const struct ps_step *s, conn_id conn, const struct ps_lookup *lookup,
                      struct ps_actions *out)
{
    assert(conn.v != 0);
    struct ps_action *action = ps_act(out, PS_DO_ANSWER_LOOKUP);
    action->conn = conn;
    action->generation = s->generation;
    action->step = lookup->step;
    action->round = lookup->round;
    action->first = lookup->number;
    action->waiting = lookup->waits;
}

struct ps_peer *ps_peer_of(struct ps_step *s, conn_id conn)
{
    assert(conn.v != 0);
    for (uint32_t i = 0; i < s->peer_count; i++) {
        if (s->peers[i].conn.v == conn.v) { return &s->peers[i]; }
    }
    if (s->peer_count == TRANSPORT_CONNECTIONS_MAX) { return NULL; }
    struct ps_peer *peer = &s->peers[s->peer_count++];
    *peer = (struct ps_peer){.conn = conn};
    return peer;
}

static void conn_closed(struct ps_step *s, conn_id conn)
{
    assert(s->peer_count <= TRANSPORT_CONNECTIONS_MAX);
    for (uint32_t i = 0; i < s->peer_count; i++) {
        if (s->peers[i].conn.v != conn.v) { continue; }
        s->peers[i] = s->peers[--s->peer_count];
        break;
    }
    s->strategy->conn_closed(s, conn);
}

bool ps_gate_is_closed(const struct ps_step *s, uint64_t step)
{
    return s->gate != 0 && step >= s->gate && s->generation == s->ordered_generation;
}

/* ------------------------------------------------------------------ saving */

bool ps_save_pending(const struct ps_step *s)
{
    return s->save_checkpoint > s->save_handled && s->generation != 0 &&
           s->generation == s->ordered_generation;
}

bool ps_step_has_gate(const struct ps_step *s)
{
    return s->generation != 0 && s->generation == s->ordered_generation && s->gate != 0;
}

uint64_t ps_step_gate(const struct ps_step *s)
{
    const bool open = ps_step_has_gate(s) && !s->applying && !s->strategy->is_past(s, s->gate);
    return open ? s->gate : 0;
}

bool ps_step_is_beyond(const struct ps_step *s)
{
    return s->generation != 0 && s->strategy->is_past(s, s->step);
}

static bool must_save(const struct ps_step *s, uint64_t step)
{
    return s->config.best && step_is_multiple(step, s->config.checkpoint_every) &&
           step_is_multiple(step, s->config.evaluate_every);
}

bool ps_awaits_save(const struct ps_step *s, uint64_t step)
{
    bool ordered = ps_save_pending(s) && s->save_step == step;
    for (uint32_t i = 0; i < s->saves; i++) { ordered = ordered || s->saving[i].step == step; }
    return ordered && must_save(s, step);
}

/* A shard is saved exactly at the ordered step or not at all. If it is missed, the chief orders
 * another checkpoint. */
void ps_save_if_due(struct ps_step *s, struct ps_actions *out)
{
    if (!ps_save_pending(s) || s->applying) { return; }
    bool kept = s->kept_checkpoint != 0 && s->kept_checkpoint == s->save_step;
    bool missed = !kept && s->strategy->is_past(s, s->save_step);
    if (s->step < s->save_step && !missed) { return; }
    assert(s->saves <= PS_SAVES_MAX);
    const bool busy = s->saves == (s->config.rows ? 1 : PS_SAVES_MAX);
    if (busy && !missed && must_save(s, s->save_step)) { return; }
    s->save_handled = s->save_checkpoint;
    if (missed || busy) {
        s->missed_checkpoint = s->save_checkpoint;
        const bool late = missed && s->save_checkpoint != s->interrupted;
        if (late) { s->late_checkpoint = s->save_checkpoint; }
        return;
    }
    s->saving[s->saves].checkpoint = s->save_checkpoint;
    s->saving[s->saves++].step = s->save_step;
    struct ps_action *action = ps_act(out, PS_DO_SAVE);
    action->checkpoint = s->save_checkpoint;
    action->generation = s->generation;
    action->step = s->save_step;
    action->values = kept ? VALUES_CHECKPOINT : VALUES_CURRENT;
}

static void save_ended(struct ps_step *s, uint64_t checkpoint, bool saved)
{
    assert(checkpoint != 0);
    assert(checkpoint <= s->save_handled);
    for (uint32_t i = 0; i < s->saves; i++) {
        if (s->saving[i].checkpoint != checkpoint) { continue; }
        if (saved && checkpoint > s->saved_checkpoint) {
            s->saved_checkpoint = checkpoint;
            s->saved_step = s->saving[i].step;
        }
        if (!saved && checkpoint > s->missed_checkpoint) { s->missed_checkpoint = checkpoint; }
        s->saving[i] = s->saving[--s->saves];
        return;
    }
}

/* ----------------------------------------------------------------- loading */

/* A load that failed is not repeated for the same generation and checkpoint: the chief decides. */
static bool load_wanted(const struct ps_step *s)
{
    if (s->phase != RUN_LOADING || s->ordered_generation == 0) { return false; }
    return s->ordered_generation != s->generation &&
           (s->ordered_generation != s->failed_load_generation ||
            s->ordered_checkpoint != s->failed_load);
}

/* End the old generation: refuse the requests that wait, and release values and gradients. */
static void leave_generation(struct ps_step *s, struct ps_actions *out)
{
    assert(s->loading_generation == 0);
    for (uint32_t i = 0; i < s->peer_count; i++) {
        struct ps_peer *peer = &s->peers[i];
        const bool waits = peer->wanted != 0 || peer->lookup.waits;
        if (waits) { ps_refuse(out, peer->conn, REFUSAL_NOT_RUNNING); }
        *peer = (struct ps_peer){.conn = peer->conn};
    }
    memset(&s->covered, 0, sizeof s->covered);
    memset(s->held_count, 0, sizeof s->held_count);
    ps_act(out, PS_DO_RELEASE_ALL);
    if (s->generation != 0) { ps_act(out, PS_DO_FORGET); }
    s->generation = s->step = 0;
    s->applying = s->has_previous = s->begun = s->recovered = false;
    s->parts_done = s->parts_applying = 0;
    s->kept_evaluation = s->kept_checkpoint = s->waits_for_checkpoint = 0;
    lateness_stop(&s->lateness);
    ps_norm_forget(s);
}

/* P1. The order is to load, and another generation. */
static void begin_load(struct ps_step *s, struct ps_actions *out)
{
    assert(s->ordered_generation != 0);
    assert(s->ordered_generation != s->generation);
    leave_generation(s, out);
    s->loading_generation = s->ordered_generation;
    s->loading_checkpoint = s->ordered_checkpoint;
    s->loading_step = s->ordered_step;
    s->run_ms = s->ordered_run_ms;
    struct ps_action *action = ps_act(out, PS_DO_LOAD);
    action->generation = s->loading_generation;
    action->checkpoint = s->loading_checkpoint;
    action->step = s->loading_step;
}

/* The load ended. True: another generation was ordered in the meantime, and is loaded now unless it
 * failed before. */
static bool load_is_outdated(struct ps_step *s, struct ps_actions *out)
{
    assert(s->loading_generation != 0);
    bool outdated = s->phase == RUN_LOADING && s->ordered_generation != s->loading_generation;
    s->loading_generation = 0;
    if (outdated && load_wanted(s)) { begin_load(s, out); }
    return outdated;
}

static void loaded(struct ps_step *s, const uint64_t *clocks, struct ps_actions *out)
{
    if (s->loading_generation == 0) { return; }
    assert(s->generation == 0);
    uint64_t generation = s->loading_generation;
    if (s->phase == RUN_LOADING && s->ordered_generation != generation) {
        ps_act(out, PS_DO_DISCARD);
        (void)load_is_outdated(s, out);
        return;
    }
    ps_act(out, PS_DO_ADOPT);
    s->loading_generation = 0;
    s->generation = generation;
    s->step = s->loading_step;
    s->strategy->loaded(s, clocks);
}

static void load_failed(struct ps_step *s, enum load_missing missing, struct ps_actions *out)
{
    if (s->loading_generation == 0) { return; }
    assert(s->generation == 0);
    uint64_t generation = s->loading_generation;
    uint64_t checkpoint = s->loading_checkpoint;
    if (load_is_outdated(s, out)) { return; }
    s->failed_load = checkpoint;
    s->failed_load_generation = generation;
    s->failed_load_missing = missing;
}

/* ---------------------------------------------------------------- dispatch */

static void order(struct ps_step *s, const struct run *run, struct ps_actions *out)
{
    assert(run != NULL);
    s->phase = run->phase;
    s->epoch = run->epoch;
    s->revision = run->revision;
    s->ordered_generation = run->generation;
    s->ordered_checkpoint = run->load_checkpoint;
    s->ordered_step = run->load_step;
    s->save_checkpoint = run->save_checkpoint;
    s->save_step = run->save_step;
    s->until = run_limit(run);
    s->end = run->until;
    s->gate = run->gate;
    s->evaluate_step = run->evaluate_step;
    s->save_due = run->save_due;
    s->ordered_run_ms = run->started_wall_ms;
    if (s->phase != RUN_RUNNING) { lateness_stop(&s->lateness); }
    /* The ensemble has lost its data, and numbers generations again. */
    const bool other_run = s->generation != 0 && s->run_ms != s->ordered_run_ms;
    if (other_run && s->recovered) { leave_generation(s, out); }
    if (load_wanted(s) && s->loading_generation == 0) { begin_load(s, out); }
}

/* A push or pull of another generation is refused, so that the sender learns the present one. */
static bool refused(const struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    if (s->generation == event->generation && s->generation != 0) { return false; }
    ps_refuse(out, event->conn, s->generation == 0 ? REFUSAL_NOT_RUNNING : REFUSAL_GENERATION);
    return true;
}

static void push(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    if (event->more) {
        ps_collect(s, event, out);
        return;
    }
    bool complete = ps_collect_last(s, event);
    if (refused(s, event, out)) {
        ps_drop(out, event->conn);
        return;
    }
    if (!complete) {
        ps_drop(out, event->conn);
        ps_refuse(out, event->conn, REFUSAL_NOT_RUNNING);
        return;
    }
    s->strategy->push(s, event, out);
}

static void pull(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    if (!refused(s, event, out)) { s->strategy->pull(s, event, out); }
}

static void lookup(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(s->config.rows);
    if (!refused(s, event, out)) { s->strategy->lookup(s, event, out); }
}

static void applied(struct ps_step *s, struct ps_actions *out)
{
    if (!s->applying) { return; }
    assert(s->generation != 0);
    s->applying = false;
    s->strategy->applied(s, out);
}

/* Another frame has taken the place of values that were being sent to the connection. */
static void end_grown(struct ps_step *s, const struct ps_event *event, const struct ps_actions *out)
{
    if (event->type != PS_EV_PUSH && event->type != PS_EV_PULL) { return; }
    for (uint32_t i = 0; i < out->count; i++) {
        const struct ps_action *action = &out->items[i];
        if (action->type != PS_DO_REFUSE && action->type != PS_DO_ANSWER) { continue; }
        for (uint32_t p = 0; p < s->peer_count; p++) {
            if (s->peers[p].conn.v == action->conn.v) { s->peers[p].grown = 0; }
        }
    }
}

void ps_step_init(struct ps_step *s, const struct ps_step_config *config)
{
    assert(config->slices >= 1 && config->slices <= SLICES_MAX);
    assert(config->strategy <= STRATEGY_PS_ASYNC);
    assert(!config->norms || config->strategy == STRATEGY_PS_SYNC);
    assert(!config->norms || config->index < config->ps);
    assert(config->ps <= PS_MAX);
    assert(config->chunks == 0 || (config->places && !config->norms && !config->rows));
    memset(s, 0, sizeof *s);
    s->config = *config;
    s->strategy = strategies[config->strategy];
}

void ps_step_handle(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(s->generation == 0 || s->loading_generation == 0);
    assert(event->now_ms >= s->now_ms);
    s->now_ms = event->now_ms;
    out->count = out->part_count = 0;
    switch (event->type) {
    case PS_EV_RUN: order(s, event->run, out); break;
    case PS_EV_PUSH: push(s, event, out); break;
    case PS_EV_PULL: pull(s, event, out); break;
    case PS_EV_LOOKUP: lookup(s, event, out); break;
    case PS_EV_PART: ps_norm_part(s, event, out); break;
    case PS_EV_LINK_UP: ps_norm_link_up(s, event->first, out); break;
    case PS_EV_MEASURED: ps_norm_measured(s, out); break;
    case PS_EV_CONN_CLOSED: conn_closed(s, event->conn); break;
    case PS_EV_APPLIED: applied(s, out); break;
    case PS_EV_LOADED: loaded(s, event->clocks, out); break;
    case PS_EV_LOAD_FAILED: load_failed(s, event->missing, out); break;
    case PS_EV_SAVED: save_ended(s, event->checkpoint, true); break;
    case PS_EV_SAVE_FAILED: save_ended(s, event->checkpoint, false); break;
    }
    end_grown(s, event, out);
    if (s->generation != 0) { s->strategy->advance(s, out); }
}
