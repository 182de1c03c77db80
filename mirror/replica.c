/*
 * The orders, and the next action. Transitions:
 *
 *   EMPTY -> WHOLE   loaded(): the ordered checkpoint; replica_on_values(): those of a peer
 *   WHOLE -> WHOLE   advance(): all sums have arrived; replica_on_values(): we were too far behind
 *   any -> EMPTY     follow_run(): another generation
 */
#include "mirror/replica.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "mirror/replica_private.h"

struct replica_action *replica_act(struct replica_actions *out, enum replica_action_type type)
{
    assert(out->count < REPLICA_ACTIONS_MAX);
    struct replica_action *action = &out->items[out->count++];
    *action = (struct replica_action){.type = type};
    return action;
}

bool replica_is_active(const struct replica *r)
{
    return r->generation != 0 && (r->run.phase == RUN_RUNNING || r->run.phase == RUN_STOPPING);
}

bool replica_is_busy(const struct replica *r)
{
    assert(!r->evaluating || r->whole || r->evaluated_step == STEP_NONE);
    return r->computing || r->evaluating;
}

void replica_forget_step(struct replica *r, struct replica_actions *out)
{
    assert(r->node_count <= r->config.slices);
    if (r->node_count > 0) { replica_act(out, REPLICA_DO_FORGET); }
    r->node_count = r->computing_count = 0;
    memset(&r->done, 0, sizeof r->done);
    memset(r->have, 0, sizeof r->have);
    r->probe_at_ms = 0;
    memset(r->is_probed, 0, sizeof r->is_probed);
    r->ahead = REPLICA_NONE;
    r->is_behind = false;
    lateness_stop(&r->lateness);
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        r->asks[range] = (struct replica_ask){.to = REPLICA_NONE};
    }
}

uint64_t replica_limit(const struct replica *r)
{
    uint64_t step = run_limit(&r->run);
    if (r->run.evaluate_step != STEP_NONE) { step = u64_min(step, r->run.evaluate_step); }
    return r->run.save_due != 0 ? u64_min(step, r->run.save_due) : step;
}

/* ------------------------------------------------------------------- orders */

static void refuse_all(struct replica *r, struct replica_actions *out)
{
    for (uint32_t i = 0; i < r->waiter_count; i++) {
        replica_refuse(r, r->waiters[i].conn, r->waiters[i].range, REPLICA_NOT_HERE, out);
    }
    r->waiter_count = 0;
}

static void begin_generation(struct replica *r, uint64_t generation, struct replica_actions *out)
{
    assert(generation != r->generation);
    refuse_all(r, out);
    replica_forget_step(r, out);
    memset(r->sums, 0, sizeof r->sums);
    replica_act(out, REPLICA_DO_DROP)->step = STEP_NONE;
    r->generation = generation;
    r->whole = r->fetching = false;
    r->step = r->kept_from = 0;
    r->evaluated_step = STEP_NONE;
    r->progress_ms = r->now_ms;
}

static void follow_run(struct replica *r, const struct replica_event *event,
                       struct replica_actions *out)
{
    const struct run *run = event->run;
    assert(run != NULL && event->writers != NULL);
    r->run = *run;
    r->epoch = run->epoch;
    r->revision = run->revision;
    if (run->phase != RUN_RUNNING) { lateness_stop(&r->lateness); }
    memcpy(r->writers, event->writers, r->config.ranges * sizeof r->writers[0]);
    if (run->generation != r->generation) { begin_generation(r, run->generation, out); }
    if (run->phase != RUN_LOADING || r->whole || r->loading_generation == run->generation) {
        return;
    }
    r->loading_generation = run->generation;
    struct replica_action *action = replica_act(out, REPLICA_DO_LOAD);
    action->generation = run->generation;
    action->checkpoint = run->load_checkpoint;
    action->step = run->load_step;
}

/* M8. */
static void loaded(struct replica *r, const struct replica_event *event,
                   struct replica_actions *out)
{
    const bool is_ordered = r->run.phase == RUN_LOADING || replica_is_active(r);
    assert(event->step != STEP_NONE);
    if (r->whole || event->generation != r->generation || !is_ordered) { return; }
    r->whole = true;
    r->step = r->kept_from = event->step;
    r->progress_ms = r->now_ms;
    struct replica_action *action = replica_act(out, REPLICA_DO_ADOPT);
    action->generation = r->generation;
    action->step = r->step;
}

static void find_relays(struct replica *r)
{
    assert(r->is_near[r->config.index]);
    ranges_relays(&r->assignment, r->config.workers, r->config.ranges, r->owners, r->is_near,
                  r->relays);
}

static void assign(struct replica *r, const struct assignment *assignment)
{
    assert(assignment != NULL);
    if (assignment->slice_count != r->config.slices) { return; }
    memset(&r->owned, 0, sizeof r->owned);
    for (uint32_t v = 0; v < r->config.slices; v++) {
        if (assignment->worker[v] != r->config.index) { continue; }
        slice_set_add(&r->owned, (struct slice_node){v, 1});
    }
    r->assignment = *assignment;
    ranges_owners(assignment, r->config.workers, r->config.ranges, r->owners);
    find_relays(r);
}

/* --------------------------------------------------------------- connections */

static void link_changed(struct replica *r, const struct replica_event *event)
{
    const uint32_t peer = event->peer;
    const bool up = event->type == REPLICA_EV_LINK_UP;
    assert(peer < r->config.workers && peer != r->config.index);
    r->link_up[peer] = up;
    r->is_probed[peer] = false;
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        struct replica_ask *ask = &r->asks[range];
        if (ask->to == peer) { replica_turn_to(ask, REPLICA_NONE); }
    }
    if (up && r->is_near[peer] != event->is_near) {
        r->is_near[peer] = event->is_near;
        find_relays(r);
    }
    if (!up && r->ahead == peer) { r->ahead = REPLICA_NONE; }
    if (r->donor != peer) { return; }
    r->fetching = r->is_behind = false;
    r->fetch_at_ms = r->now_ms;
}

static void conn_closed(struct replica *r, uint32_t conn)
{
    assert(r->waiter_count <= REPLICA_WAITERS_MAX);
    for (uint32_t i = 0; i < r->waiter_count;) {
        if (r->waiters[i].conn == conn) {
            replica_remove_waiter(r, i);
        } else {
            i++;
        }
    }
}

/* ------------------------------------------------------------------ progress */

/* M10. */
static void save_if_due(struct replica *r, struct replica_actions *out)
{
    const struct run *run = &r->run;
    if (!r->whole || run->save_checkpoint <= r->handled_checkpoint) { return; }
    if (r->step < run->save_step) { return; }
    r->handled_checkpoint = run->save_checkpoint;
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        if (r->writers[range] != r->config.index) { continue; }
        const bool is_missed = r->step > run->save_step;
        struct replica_action *action =
            replica_act(out, is_missed ? REPLICA_DO_MISS : REPLICA_DO_SAVE);
        action->range = range;
        action->generation = r->generation;
        action->step = run->save_step;
        action->checkpoint = run->save_checkpoint;
    }
}

static bool has_all_sums(const struct replica *r)
{
    assert(r->config.ranges >= 1);
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        if (!r->have[range]) { return false; }
    }
    return true;
}

static void advance(struct replica *r, struct replica_actions *out)
{
    while (r->whole && !replica_is_busy(r) && r->step < replica_limit(r) && has_all_sums(r)) {
        struct replica_action *action = replica_act(out, REPLICA_DO_APPLY);
        action->generation = r->generation;
        action->step = r->step;
        for (uint32_t range = 0; range < r->config.ranges; range++) {
            memset(replica_sum_of(r, range, r->step), 0, sizeof(struct replica_sum));
        }
        r->step++;
        r->progress_ms = r->now_ms;
        if (r->step - r->kept_from > r->config.keep_sums) {
            r->kept_from = r->step - r->config.keep_sums;
        }
        replica_forget_step(r, out);
        if (r->run.phase == RUN_RUNNING) { lateness_begin(&r->lateness, r->now_ms); }
        save_if_due(r, out);
        for (uint32_t range = 0; range < r->config.ranges; range++) {
            replica_reduce(r, range, out);
        }
    }
}

/* M11. The slices that are missing, by one action. */
static void compute(struct replica *r, struct replica_actions *out)
{
    struct slice_set missing = r->owned;
    if (!r->whole || !replica_is_active(r) || r->fetching || replica_is_busy(r)) { return; }
    if (!r->is_able || r->step >= replica_limit(r)) { return; }
    for (uint32_t i = 0; i < SLICES_WORDS; i++) { missing.words[i] &= ~r->done.words[i]; }
    if (slice_set_count(&missing) == 0) { return; }
    struct slice_node cover[SLICES_MAX];
    const uint32_t count = slices_cover(r->config.slices, &missing, cover);
    assert(r->node_count + count <= r->config.slices);
    memcpy(&r->nodes[r->node_count], cover, count * sizeof cover[0]);
    struct replica_action *action = replica_act(out, REPLICA_DO_COMPUTE);
    action->generation = r->generation;
    action->step = r->step;
    action->first_node = r->node_count;
    action->node_count = count;
    r->node_count += count;
    r->computing_count = count;
    for (uint32_t i = 0; i < SLICES_WORDS; i++) { r->done.words[i] |= missing.words[i]; }
    r->computing = true;
}

/* Each worker begins with another range, so that not all of them send to the same owner first. */
static void ask_owners(struct replica *r, struct replica_actions *out)
{
    for (uint32_t i = 1; i <= r->config.ranges; i++) {
        replica_ask(r, (r->config.index + i) % r->config.ranges, out);
    }
}

static void proceed(struct replica *r, struct replica_actions *out)
{
    save_if_due(r, out);
    advance(r, out);
    replica_fetch(r, out);
    compute(r, out);
    if (r->whole && replica_is_active(r) && r->step < replica_limit(r)) {
        ask_owners(r, out);
        replica_ask_around(r, out);
        advance(r, out);
        compute(r, out);
    }
    /* After the pushes, so that other workers need not wait for the evaluation. */
    replica_evaluate(r, out);
    replica_watch_late(r);
}

/* ------------------------------------------------------------------ dispatch */

void replica_init(struct replica *r, const struct replica_config *config)
{
    assert(config->workers >= 1 && config->workers <= WORKERS_MAX);
    assert(config->ranges >= 1 && config->ranges <= RANGES_MAX);
    assert(config->slices >= 1 && config->slices <= SLICES_MAX);
    assert(config->index < config->workers);
    assert(config->keep_sums <= REPLICA_KEEP_MAX);
    memset(r, 0, sizeof *r);
    r->config = *config;
    r->is_near[config->index] = true;
    r->is_able = !config->begins_unable;
    r->run.evaluate_step = r->evaluated_step = STEP_NONE;
    r->ahead = REPLICA_NONE;
    r->donor = r->probed = (uint16_t)config->index;
    for (uint32_t range = 0; range < config->ranges; range++) {
        r->owners[range] = r->relays[range] = REPLICA_NONE;
        r->asks[range].to = REPLICA_NONE;
    }
}

void replica_handle(struct replica *r, const struct replica_event *event,
                    struct replica_actions *actions)
{
    assert(event->now_ms >= r->now_ms);
    r->now_ms = event->now_ms;
    actions->count = actions->part_count = 0;
    switch (event->type) {
    case REPLICA_EV_RUN: follow_run(r, event, actions); break;
    case REPLICA_EV_ASSIGNMENT: assign(r, event->assignment); break;
    case REPLICA_EV_LINK_UP:
    case REPLICA_EV_LINK_DOWN: link_changed(r, event); break;
    case REPLICA_EV_CONN_CLOSED: conn_closed(r, event->conn); break;
    case REPLICA_EV_PUSH:
    case REPLICA_EV_PULL: replica_on_question(r, event, actions); break;
    case REPLICA_EV_PULL_VALUES: replica_on_pull_values(r, event, actions); break;
    case REPLICA_EV_SUM: replica_on_sum(r, event, actions); break;
    case REPLICA_EV_VALUES: replica_on_values(r, event, actions); break;
    case REPLICA_EV_REFUSED: replica_on_refused(r, event); break;
    case REPLICA_EV_COMPUTED:
        r->computing = false;
        r->computing_count = 0;
        r->evaluation_ms = event->evaluation_ms;
        break;
    case REPLICA_EV_EVALUATED: r->evaluating = false; break;
    case REPLICA_EV_ABLE: r->is_able = true; break;
    case REPLICA_EV_UNABLE: replica_become_unable(r, actions); break;
    case REPLICA_EV_LOADED: loaded(r, event, actions); break;
    case REPLICA_EV_TICK: break;
    }
    proceed(r, actions);
}

/* Times that have passed were used by the last event. */
static uint64_t later(const struct replica *r, uint64_t at_ms, uint64_t first_ms)
{
    return at_ms > r->now_ms ? u64_min(at_ms, first_ms) : first_ms;
}

uint64_t replica_deadline_ms(const struct replica *r)
{
    uint64_t first_ms = UINT64_MAX;
    if (!replica_is_active(r) || replica_is_busy(r)) { return first_ms; }
    if (!r->fetching && (!r->whole || r->is_behind)) {
        first_ms = later(r, r->fetch_at_ms, first_ms);
    }
    first_ms = later(r, replica_evaluation_due_ms(r), first_ms);
    if (!r->whole || r->step >= replica_limit(r)) { return first_ms; }
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        if (r->have[range]) { continue; }
        first_ms = later(r, r->asks[range].again_ms, first_ms);
        first_ms = later(r, replica_relay_due_ms(r, range), first_ms);
        if (r->owners[range] == r->config.index) { first_ms = later(r, r->probe_at_ms, first_ms); }
    }
    if (replica_awaits(r)) {
        first_ms = u64_min(first_ms, lateness_due_ms(&r->lateness, r->now_ms));
    }
    return first_ms;
}

uint64_t replica_gate(const struct replica *r)
{
    return r->whole && r->step <= r->run.gate ? r->run.gate : 0;
}

uint64_t replica_waits_for_checkpoint(const struct replica *r)
{
    const bool waits = r->whole && replica_is_active(r) && r->step == r->run.save_due;
    return waits && r->step < run_limit(&r->run) ? r->step : 0;
}

bool replica_waits_for(const struct replica *r, uint32_t *range, uint32_t *worker)
{
    if (!r->whole || !replica_is_active(r) || r->computing || r->step >= replica_limit(r)) {
        return false;
    }
    for (uint32_t i = 0; i < r->config.ranges; i++) {
        if (r->have[i]) { continue; }
        *range = i;
        *worker = r->owners[i];
        return true;
    }
    return false;
}
