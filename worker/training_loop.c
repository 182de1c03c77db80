#include "worker/training_loop.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "worker/training_loop_private.h"

struct loop_action *loop_act(struct loop_actions *out, enum loop_action_type type)
{
    assert(out->count < LOOP_ACTIONS_MAX);
    struct loop_action *action = &out->items[out->count++];
    *action = (struct loop_action){.type = type};
    return action;
}

static bool owns_any(const struct training_loop *loop)
{
    return slice_set_count(&loop->owned) > 0;
}

/* Whether no computation reads the current values. */
static bool is_free(const struct training_loop *loop)
{
    return !loop->computing && !loop->evaluating;
}

bool loop_is_active(const struct training_loop *loop)
{
    return loop->generation != 0 && (loop->phase == RUN_RUNNING || loop->phase == RUN_STOPPING);
}

bool loop_may_push(const struct training_loop *loop)
{
    return !loop->strategy->slice_updates || loop->step < loop->until;
}

struct slice_set loop_missing(const struct training_loop *loop)
{
    struct slice_set set = loop->owned;
    for (uint32_t i = 0; i < SLICES_WORDS; i++) { set.words[i] &= ~loop->done.words[i]; }
    return set;
}

static void enter(struct training_loop *loop, enum loop_state state, uint64_t now_ms)
{
    assert(!loop->computing || state == LOOP_IDLE);
    loop->state = state;
    loop->round++;
    loop->progress_ms = now_ms;
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        struct loop_ps *ps = &loop->ps[i];
        ps->held = ps->asked = false;
        ps->sent = ps->taken = 0;
    }
    if (state != LOOP_WHOLE || !loop_looks_ahead(loop)) { loop_end_lookup(loop); }
}

static void forget_gradients(struct training_loop *loop, struct loop_actions *out)
{
    if (loop->node_count > 0) { loop_act(out, LOOP_DO_FORGET); }
    loop->node_count = 0;
    memset(&loop->done, 0, sizeof loop->done);
}

static void go_idle(struct training_loop *loop, uint64_t now_ms, struct loop_actions *out)
{
    forget_gradients(loop, out);
    enter(loop, LOOP_IDLE, now_ms);
}

/* Async: gradients are kept until the values of another step arrive. A ps may have applied them,
 * and from the values that are gathered now, other gradients would be computed. */
static void begin_gather(struct training_loop *loop, uint64_t now_ms, struct loop_actions *out)
{
    if (loop->strategy->exact_steps) { forget_gradients(loop, out); }
    enter(loop, LOOP_GATHER, now_ms);
    loop->gather_step = STEP_LATEST;
    loop->end_moved = loop->went_back = false;
}

static void become_whole(struct training_loop *loop, uint64_t step, uint64_t now_ms,
                         struct loop_actions *out)
{
    if (step != loop->step) { forget_gradients(loop, out); }
    enter(loop, LOOP_WHOLE, now_ms);
    loop->step = step;
    loop_act(out, LOOP_DO_SWAP)->step = step;
}

/* -------------------------------------------------------------- evaluations */

/* Whether this worker, the owner of slice 0, has to evaluate the ordered step. */
static bool must_evaluate(const struct training_loop *loop)
{
    return loop->evaluate_step != STEP_NONE && loop->evaluated_step != loop->evaluate_step &&
           slice_set_has_all(&loop->owned, (struct slice_node){0, 1});
}

/* Exact steps: the current values are of a later one. The ps keep those of the ordered one. */
static bool must_go_back(const struct training_loop *loop, uint64_t step)
{
    return loop->strategy->exact_steps && must_evaluate(loop) && step > loop->evaluate_step;
}

/* The owner of slice 0 does not pass a multiple of the interval while the result of an earlier one
 * is not known: so no ps replaces the values that it keeps for the earlier one, and no result
 * replaces another one that the chief has not received. */
static bool waits_for_result(const struct training_loop *loop)
{
    uint64_t every = loop->config.evaluate_every, pending = loop->evaluate_step;
    return every != 0 && pending < loop->step && loop->step - pending >= every &&
           slice_set_has_all(&loop->owned, (struct slice_node){0, 1});
}

/* ------------------------------------------------------------------ events */

static void order(struct training_loop *loop, const struct run *run, uint64_t now_ms,
                  struct loop_actions *out)
{
    assert(run != NULL);
    const uint64_t until = run_limit(run);
    loop->end_moved = !loop->strategy->exact_steps && run->generation == loop->generation &&
                      loop->state == LOOP_WHOLE &&
                      (loop->end_moved || (until < loop->until && loop->step + 1 >= until));
    loop->phase = run->phase;
    loop->epoch = run->epoch;
    loop->revision = run->revision;
    loop->until = until;
    loop->evaluate_step = run->evaluate_step;
    /* The test set was looked up for the end, which is a later step now. */
    if (loop->lookup == LOOKUP_TEST && loop->step < loop->evaluate_step) { loop_end_lookup(loop); }
    if (run->generation == loop->generation) { return; }
    go_idle(loop, now_ms, out);
    loop->generation = run->generation;
    loop->step = 0;
    loop->evaluated_step = STEP_NONE;
}

static void assign(struct training_loop *loop, const struct assignment *assignment, uint64_t now_ms,
                   struct loop_actions *out)
{
    assert(assignment != NULL);
    if (assignment->slice_count != loop->config.slices) { return; }
    memset(&loop->owned, 0, sizeof loop->owned);
    for (uint32_t v = 0; v < loop->config.slices; v++) {
        if (assignment->worker[v] == loop->config.index) {
            slice_set_add(&loop->owned, (struct slice_node){v, 1});
        }
    }
    if (!owns_any(loop)) {
        if (loop->state != LOOP_IDLE) { go_idle(loop, now_ms, out); }
        return;
    }
    /* The clock of a slice assigned to us may be below our step: begin again at the slowest slice,
     * so that no contribution is left out. The ps drop contributions that they have applied
     * already. */
    struct slice_set fresh = loop_missing(loop);
    if (!loop->strategy->exact_steps && loop->state == LOOP_WHOLE && !loop->computing &&
        slice_set_count(&fresh) > 0) {
        begin_gather(loop, now_ms, out);
    }
}

static void link_changed(struct training_loop *loop, uint32_t index, bool up)
{
    assert(index < loop->config.ps);
    struct loop_ps *ps = &loop->ps[index];
    ps->up = up;
    ps->asked = ps->lookup_sent = false;
    ps->sent = ps->taken = 0;
    ps->retry_at_ms = 0;
}

/* The rest of an answer whose beginning was ignored is ignored as well. */
static void take_chunk(struct loop_ps *ps, const struct loop_event *event, struct loop_actions *out)
{
    assert(!ps->held);
    if (event->number == 0) { ps->taken = 0; }
    if (event->number != ps->taken || (ps->taken > 0 && event->step != ps->held_step)) { return; }
    struct loop_action *action = loop_act(out, LOOP_DO_TAKE);
    action->ps = event->ps;
    action->chunk = event->chunk;
    action->number = event->number;
    action->growing = event->growing;
    ps->held_step = event->step;
    ps->taken++;
    if (event->more) { return; }
    ps->held = true;
    ps->asked = false;
}

static void values(struct training_loop *loop, const struct loop_event *event,
                   struct loop_actions *out)
{
    assert(event->ps < loop->config.ps);
    struct loop_ps *ps = &loop->ps[event->ps];
    if (event->generation != loop->generation || ps->held) { return; }
    uint64_t wanted = loop->state == LOOP_GATHER ? loop->gather_step : loop->step + 1;
    if (loop->state == LOOP_IDLE || (wanted != STEP_LATEST && event->step != wanted)) { return; }
    /* The answer to a request of an older round is of no use for the present one, unless the
     * values of the next step are the same, whichever request they answer. */
    bool any_round = loop->state == LOOP_WHOLE && loop->strategy->exact_steps;
    if (event->round != loop->round && !any_round) { return; }
    take_chunk(ps, event, out);
}

static void refused(struct training_loop *loop, const struct loop_event *event,
                    struct loop_actions *out)
{
    assert(event->ps < loop->config.ps);
    if (loop->state == LOOP_IDLE) { return; }
    if (event->refusal == REFUSAL_STEP_GONE && event->generation == loop->generation) {
        if (loop->computing) { return; }
        begin_gather(loop, event->now_ms, out);
        for (uint32_t i = 0; i < loop->config.ps; i++) {
            loop->ps[i].retry_at_ms = event->now_ms + LOOP_GONE_RETRY_MS;
        }
        return;
    }
    struct loop_ps *ps = &loop->ps[event->ps];
    ps->asked = ps->lookup_sent = false;
    ps->sent = 0;
    ps->retry_at_ms = event->now_ms + LOOP_REFUSED_RETRY_MS;
}

/* ---------------------------------------------------------------- progress */

static bool all_held(const struct training_loop *loop)
{
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        if (!loop->ps[i].held) { return false; }
    }
    return true;
}

/* Every ps has answered. If the steps of the answers differ, the lowest step counts. The ps that
 * are ahead still keep it: shards are at most one step apart while our slices are missing. */
static void settle_gather(struct training_loop *loop, uint64_t now_ms, struct loop_actions *out)
{
    assert(loop->state == LOOP_GATHER);
    assert(all_held(loop));
    uint64_t lowest = loop->ps[0].held_step;
    bool equal = true;
    for (uint32_t i = 1; i < loop->config.ps; i++) {
        if (loop->ps[i].held_step != lowest) { equal = false; }
        lowest = u64_min(lowest, loop->ps[i].held_step);
    }
    bool goes_back = must_go_back(loop, lowest);
    if (!goes_back && (equal || !loop->strategy->exact_steps)) {
        become_whole(loop, lowest, now_ms, out);
        return;
    }
    if (goes_back) {
        lowest = loop->evaluate_step;
        loop->went_back = true;
    }
    loop->gather_step = lowest;
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        if (loop->ps[i].held_step == lowest) { continue; }
        loop->ps[i].held = false;
        loop->ps[i].taken = 0;
    }
}

/* Whether ps `index` may be sent something now. */
static bool is_reachable(const struct training_loop *loop, uint32_t index, uint64_t now_ms)
{
    const struct loop_ps *ps = &loop->ps[index];
    return ps->up && !ps->held && now_ms >= ps->retry_at_ms;
}

/* The ps to which the nodes from `first_node` on are sent while they are computed. None, if a
 * slice is an update of its own: a pull follows its push; and none with tables, whose rows are sent
 * before. */
static uint64_t push_ahead(struct training_loop *loop, uint32_t first_node, uint64_t now_ms)
{
    static_assert(PS_MAX <= 64, "a bit for each ps");
    uint64_t set = 0;
    const bool waits =
        loop->strategy->slice_updates || loop->config.rows || loop->config.whole_pushes;
    for (uint32_t i = 0; i < loop->config.ps && !waits; i++) {
        if (!is_reachable(loop, i, now_ms) || loop->ps[i].sent != first_node) { continue; }
        loop->ps[i].sent = loop->node_count;
        set |= UINT64_C(1) << i;
    }
    return set;
}

/* Whether slices have to be computed now. */
static bool must_compute(const struct training_loop *loop)
{
    const struct slice_set set = loop_missing(loop);
    return loop->phase == RUN_RUNNING && loop->step < loop->until && slice_set_count(&set) > 0 &&
           !waits_for_result(loop);
}

/* Compute the missing slices by one action; with tables, those whose rows have arrived. */
static void compute_missing(struct training_loop *loop, uint64_t now_ms, struct loop_actions *out)
{
    assert(loop->state == LOOP_WHOLE);
    assert(!loop->computing);
    struct slice_set set = loop_missing(loop);
    if (!must_compute(loop)) { return; }
    if (loop->config.rows) {
        if (loop->lookup != LOOKUP_SLICES || loop_looks_ahead(loop)) {
            loop->sought = set;
            loop_begin_lookup(loop, LOOKUP_SLICES, loop->step, out);
        }
        if (!loop_has_rows(loop, LOOKUP_SLICES)) { return; }
        set = loop->sought;
        loop->lookup = LOOKUP_NONE;
    }
    struct loop_action *action = loop_act(out, LOOP_DO_COMPUTE);
    action->step = loop->step;
    action->generation = loop->generation;
    action->round = loop->round;
    action->first_node = loop->node_count;
    if (!loop->strategy->slice_updates) {
        struct slice_node cover[SLICES_MAX];
        uint32_t count = slices_cover(loop->config.slices, &set, cover);
        memcpy(&loop->nodes[loop->node_count], cover, count * sizeof cover[0]);
        loop->node_count += count;
    } else {
        for (uint32_t v = 0; v < loop->config.slices; v++) {
            struct slice_node node = {v, 1};
            if (slice_set_has_all(&set, node)) { loop->nodes[loop->node_count++] = node; }
        }
        /* Answers to earlier pushes do not include these contributions. */
        for (uint32_t i = 0; i < loop->config.ps; i++) {
            loop->ps[i].held = false;
            loop->ps[i].taken = 0;
        }
    }
    assert(loop->node_count <= loop->config.slices);
    action->node_count = loop->node_count - action->first_node;
    action->push_to = push_ahead(loop, action->first_node, now_ms);
    for (uint32_t i = 0; i < SLICES_WORDS; i++) { loop->done.words[i] |= set.words[i]; }
    loop->computing = true;
}

/* Exactly the ordered step. Where a step has no exact values: the current values, once this worker
 * has reached the step. */
static void evaluate(struct training_loop *loop, struct loop_actions *out)
{
    assert(loop->state == LOOP_WHOLE);
    if (!must_evaluate(loop) || loop->step < loop->evaluate_step) { return; }
    assert(!loop->strategy->exact_steps || loop->step == loop->evaluate_step);
    if (loop->config.rows) {
        if (loop->lookup == LOOKUP_SLICES && must_compute(loop)) { return; }
        if (loop->lookup != LOOKUP_TEST) { loop_begin_lookup(loop, LOOKUP_TEST, loop->step, out); }
        if (!loop_has_rows(loop, LOOKUP_TEST)) { return; }
        loop->lookup = LOOKUP_NONE;
    }
    struct loop_action *action = loop_act(out, LOOP_DO_EVALUATE);
    action->step = loop->evaluate_step;
    action->generation = loop->generation;
    loop->evaluating = true;
    loop->evaluated_step = loop->evaluate_step;
}

/* Send ps `index` what it lacks: a pull, or the gradients that were not sent on its connection. */
static void exchange(struct training_loop *loop, uint32_t index, struct loop_actions *out)
{
    assert(loop->state != LOOP_IDLE);
    assert(loop->ps[index].sent <= loop->node_count);
    struct loop_ps *ps = &loop->ps[index];
    struct loop_action *action;
    if (loop->state == LOOP_GATHER) {
        if (ps->asked) { return; }
        ps->asked = true;
        action = loop_act(out, LOOP_DO_PULL);
        action->step = loop->gather_step;
    } else {
        if (ps->sent == loop->node_count || loop->computing || !loop_may_push(loop)) { return; }
        struct loop_action *push = loop_act(out, LOOP_DO_PUSH);
        push->ps = index;
        push->generation = loop->generation;
        push->step = loop->step;
        push->first_node = ps->sent;
        push->node_count = loop->node_count - ps->sent;
        push->round = loop->round;
        ps->sent = loop->node_count;
        if (!loop->strategy->slice_updates) {
            return; /* A push is also a pull of the next step. */
        }
        action = loop_act(out, LOOP_DO_PULL);
        action->step = loop->step + 1;
    }
    action->last = action->step != STEP_LATEST && action->step >= loop->until;
    action->epoch = loop->epoch;
    action->revision = loop->revision;
    action->ps = index;
    action->generation = loop->generation;
    action->round = loop->round;
}

/* Every ps has reached the last step: other workers computed the rest, and only the values are
 * needed, once the present step is evaluated if that is due. */
static bool is_behind_end(const struct training_loop *loop)
{
    return loop->phase == RUN_STOPPING && loop->step < loop->until;
}

/* Whether the values of the present step are needed until they were evaluated. Without exact steps
 * they may be of a later step, and the rows of the test set take more time than a step. */
static bool evaluates_step(const struct training_loop *loop)
{
    return must_evaluate(loop) &&
           (loop->step == loop->evaluate_step || loop->lookup == LOOKUP_TEST);
}

static void proceed(struct training_loop *loop, uint64_t now_ms, struct loop_actions *out)
{
    if (!loop_is_active(loop) || !owns_any(loop)) { return; }
    if (loop->state == LOOP_IDLE && is_free(loop)) { begin_gather(loop, now_ms, out); }
    if (loop->state == LOOP_IDLE) { return; }
    if (loop->state == LOOP_GATHER && all_held(loop)) { settle_gather(loop, now_ms, out); }
    bool due = evaluates_step(loop);
    bool outdated = must_go_back(loop, loop->step) || loop->end_moved ||
                    (!due && (loop->went_back || is_behind_end(loop)));
    if (loop->state == LOOP_WHOLE && is_free(loop) && outdated) { begin_gather(loop, now_ms, out); }
    if (loop->state == LOOP_WHOLE && is_free(loop)) {
        due = evaluates_step(loop);
        if (all_held(loop) && !due) { become_whole(loop, loop->step + 1, now_ms, out); }
        /* The ps would refuse gradients of this step, and that would end the lookup of the
         * test set. */
        if (!loop->went_back) { compute_missing(loop, now_ms, out); }
    }
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        const struct loop_ps *ps = &loop->ps[i];
        if (is_reachable(loop, i, now_ms)) { exchange(loop, i, out); }
        if (ps->up && now_ms >= ps->retry_at_ms && loop_must_look_up(loop, i)) {
            loop_look_up(loop, i, out);
        }
    }
    /* After the pushes, so that other workers need not wait for the evaluation. */
    if (loop->state == LOOP_WHOLE && is_free(loop)) { evaluate(loop, out); }
    if (is_free(loop)) { loop_look_ahead(loop, out); }
}

/* An evaluation that was going on has no result: it is done again. */
static void reset(struct training_loop *loop, uint64_t now_ms, struct loop_actions *out)
{
    if (loop->evaluating) { loop->evaluated_step = STEP_NONE; }
    loop->computing = loop->evaluating = false;
    for (uint32_t i = 0; i < loop->config.ps; i++) { link_changed(loop, i, false); }
    go_idle(loop, now_ms, out);
}

/* ---------------------------------------------------------------- dispatch */

void training_loop_init(struct training_loop *loop, const struct training_loop_config *config)
{
    assert(config->slices >= 1 && config->slices <= SLICES_MAX);
    assert(config->ps >= 1 && config->ps <= PS_MAX);
    memset(loop, 0, sizeof *loop);
    loop->config = *config;
    loop->strategy = strategy_of_kind(config->strategy);
    loop->evaluate_step = loop->evaluated_step = STEP_NONE;
}

void training_loop_handle(struct training_loop *loop, const struct loop_event *event,
                          struct loop_actions *out)
{
    assert(loop->node_count <= loop->config.slices);
    out->count = 0;
    switch (event->type) {
    case LOOP_EV_RUN: order(loop, event->run, event->now_ms, out); break;
    case LOOP_EV_ASSIGNMENT: assign(loop, event->assignment, event->now_ms, out); break;
    case LOOP_EV_LINK_UP: link_changed(loop, event->ps, true); break;
    case LOOP_EV_LINK_DOWN: link_changed(loop, event->ps, false); break;
    case LOOP_EV_VALUES: values(loop, event, out); break;
    case LOOP_EV_REFUSED: refused(loop, event, out); break;
    case LOOP_EV_LISTED: loop_listed(loop, event); break;
    case LOOP_EV_ROWS: loop_rows(loop, event); break;
    case LOOP_EV_COMPUTED: loop->computing = false; break;
    case LOOP_EV_EVALUATED: loop->evaluating = false; break;
    case LOOP_EV_RESET: reset(loop, event->now_ms, out); break;
    case LOOP_EV_TICK: break;
    }
    proceed(loop, event->now_ms, out);
}
