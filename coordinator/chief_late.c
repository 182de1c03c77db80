/* Backup work: the slices of a worker that delays the others are given to them (C23). */
#include <assert.h>

#include "coordinator/chief_private.h"

/* The step whose evaluation is ordered, if training has reached it: a worker computes it. */
static uint64_t present_evaluation(const struct chief *c)
{
    const struct run *run = &c->run;
    const bool trains = run->phase == RUN_RUNNING || run->phase == RUN_STOPPING;
    if (!trains || run->evaluate_step == STEP_NONE) { return STEP_NONE; }
    return chief_max_step(c, run) >= run->evaluate_step ? run->evaluate_step : STEP_NONE;
}

/* The time of the worker that has sent the result, if that has arrived. */
static void end_evaluation(struct chief *c)
{
    const uint64_t step = c->run.evaluation.step;
    for (uint32_t w = 0; w < c->config.workers; w++) {
        struct chief_peer *peer = &c->workers[w];
        const bool is_its_own = peer->evaluates_ms != 0 && peer->reported &&
                                peer->report.generation == c->run.generation &&
                                peer->report.evaluation.step == step;
        if (is_its_own && step == c->evaluates_step) {
            c->evaluation_ms = u64_max(c->evaluation_ms, c->now_ms - peer->evaluates_ms + 1);
        }
        peer->evaluates_ms = 0;
    }
}

static void time_evaluation(struct chief *c)
{
    const uint64_t step = present_evaluation(c);
    const uint16_t owner = c->assignment.slice_count > 0 ? c->assignment.worker[0] : UINT16_MAX;
    if (step != c->evaluates_step && c->evaluates_step != STEP_NONE) { end_evaluation(c); }
    c->evaluates_step = step;
    if (step == STEP_NONE || owner >= c->config.workers) { return; }
    struct chief_peer *peer = &c->workers[owner];
    const bool begins = owner != c->evaluator_worker || peer->evaluates_ms == 0;
    if (begins) { peer->evaluates_ms = c->now_ms; }
    c->evaluator_worker = owner;
}

/* The time in its report; a worker that has just started is expected to need that of the others. */
static uint64_t expected_ms(const struct chief *c, uint32_t worker)
{
    uint64_t ms = c->workers[worker].report.evaluation_ms;
    for (uint32_t w = 0; w < c->config.workers && c->workers[worker].report.evaluation_ms == 0;
         w++) {
        ms = u64_max(ms, c->workers[w].report.evaluation_ms);
    }
    return u64_min(ms, CHIEF_EVALUATION_MAX_MS);
}

/* When the worker that evaluates has kept the others waiting for too long. */
static uint64_t evaluation_due_ms(const struct chief *c, uint32_t worker)
{
    const uint64_t least_ms = c->evaluation_ms == 0 ? CHIEF_LATE_FIRST_MS : 0;
    const uint64_t longest_ms = u64_max(c->evaluation_ms, expected_ms(c, worker));
    assert(worker < c->config.workers);
    return c->workers[worker].evaluates_ms + u64_max(least_ms, longest_ms * CHIEF_LATE_EVALUATION);
}

/* The owner of slice 0 evaluates between two steps, which takes it much longer than a step. */
static bool may_evaluate(const struct chief *c, uint32_t worker)
{
    if (c->evaluates_step == STEP_NONE || c->assignment.worker[0] != worker) { return false; }
    return c->now_ms < evaluation_due_ms(c, worker);
}

/* The late slices in the reports that count, and the longest of their limits. */
struct judgement {
    struct slice_set late;
    uint64_t after_ms;
};

/* Whether a report of late slices counts: once, and only if the slices that were assigned have had
 * time to be computed. While they are late the holder repeats it, so that one which stands is old.
 * M12: a worker that is late or behind delays itself: what it lacks may have been sent long ago. */
static bool counts(const struct chief *c, const struct chief_peer *holder)
{
    const struct report *report = &holder->report;
    if (c->run.phase != RUN_RUNNING || !holder->present || !holder->reported) { return false; }
    if (report->generation != c->run.generation || report->sequence <= holder->judged) {
        return false;
    }
    if (holder->straggler.is_late || chief_is_behind(c, report->step)) { return false; }
    return slice_set_count(&report->late) > 0 &&
           holder->heard_ms >= c->assigned_ms + report->late_after_ms;
}

static struct judgement judge(const struct chief *c)
{
    struct judgement judgement = {.after_ms = 0};
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        const struct chief_peer *holder = chief_holder(c, i);
        if (!counts(c, holder)) { continue; }
        for (uint32_t k = 0; k < SLICES_WORDS; k++) {
            judgement.late.words[k] |= holder->report.late.words[k];
        }
        judgement.after_ms = u64_max(judgement.after_ms, holder->report.late_after_ms);
    }
    return judgement;
}

static void find_owners(const struct chief *c, const struct slice_set *late,
                        bool owns[static WORKERS_MAX], bool is_late[static WORKERS_MAX])
{
    for (uint32_t v = 0; v < c->assignment.slice_count; v++) {
        const uint16_t owner = c->assignment.worker[v];
        if (owner >= c->config.workers) { continue; }
        owns[owner] = true;
        if (slice_set_has_all(late, (struct slice_node){v, 1})) { is_late[owner] = true; }
    }
}

static void take_slices(struct chief *c, uint32_t worker)
{
    struct chief_peer *peer = &c->workers[worker];
    struct chief_straggler *it = &peer->straggler;
    const bool again = it->wait_ms != 0 && c->now_ms < it->until_ms + CHIEF_LATE_GOOD * it->wait_ms;
    assert(!it->is_late);
    it->wait_ms = again ? u64_min(it->wait_ms * 2, CHIEF_LATE_MAX_MS) : CHIEF_LATE_MS;
    it->is_late = true;
    it->since_ms = c->now_ms;
    it->until_ms = c->now_ms + it->wait_ms;
    it->generation = c->run.generation;
    it->step = chief_max_step(c, &c->run);
    chief_note(c, HISTORY_LATE, (struct task){ROLE_WORKER, worker}, peer->pid, 0, NULL);
}

static void note_judged(struct chief *c)
{
    struct chief_peer *holders = c->strategy->holder == ROLE_PS ? c->ps : c->workers;
    assert(chief_holder_count(c) > 0);
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        holders[i].judged = holders[i].report.sequence;
    }
}

/* A worker that has pushed all its slices must wait: only then others are late. */
static void find_late(struct chief *c)
{
    const struct judgement judgement = judge(c);
    bool owns[WORKERS_MAX] = {false}, is_late[WORKERS_MAX] = {false}, is_any_idle = false;
    if (slice_set_count(&judgement.late) == 0) { return; }
    note_judged(c);
    find_owners(c, &judgement.late, owns, is_late);
    for (uint32_t w = 0; w < c->config.workers; w++) {
        const struct chief_peer *peer = &c->workers[w];
        const bool idle = owns[w] && !is_late[w] && peer->report.leaving == 0 &&
                          c->strategy->may_own(c, &c->run, w);
        is_any_idle = is_any_idle || (idle && run_wants_worker(&c->run, w));
    }
    for (uint32_t w = 0; w < c->config.workers && is_any_idle; w++) {
        const struct chief_peer *peer = &c->workers[w];
        const bool is_judged = is_late[w] && peer->present && !peer->straggler.is_late;
        if (!is_judged || chief_may_join(c, w, judgement.after_ms)) { continue; }
        if (!may_evaluate(c, w)) { take_slices(c, w); }
    }
}

/* C8, C9: training waits for nothing but the result, so that no slice is late. */
static bool is_result_awaited(const struct chief *c)
{
    return c->config.strategy == STRATEGY_PS_SYNC && c->evaluates_step != STEP_NONE &&
           c->evaluates_step >= c->run.until && c->evaluator_worker < c->config.workers &&
           !c->workers[c->evaluator_worker].straggler.is_late;
}

static void find_late_evaluation(struct chief *c)
{
    bool is_any_ready = false;
    if (!is_result_awaited(c)) { return; }
    const uint32_t worker = c->evaluator_worker;
    if (!c->workers[worker].present || c->now_ms < evaluation_due_ms(c, worker)) { return; }
    for (uint32_t w = 0; w < c->config.workers; w++) {
        const struct chief_peer *peer = &c->workers[w];
        const bool may_evaluate_it = w != worker && run_wants_worker(&c->run, w) &&
                                     !peer->straggler.is_late && peer->report.leaving == 0;
        is_any_ready = is_any_ready || (may_evaluate_it && c->strategy->may_own(c, &c->run, w));
    }
    if (is_any_ready) { take_slices(c, worker); }
}

/* A worker that reports again works again. */
static bool may_return(const struct chief *c, const struct chief_peer *peer)
{
    const struct chief_straggler *it = &peer->straggler;
    return it->is_late && peer->reported && peer->heard_ms > it->since_ms &&
           chief_has_caught_up(c, peer);
}

void chief_watch_late(struct chief *c)
{
    time_evaluation(c);
    for (uint32_t w = 0; w < c->config.workers; w++) {
        struct chief_peer *peer = &c->workers[w];
        struct chief_straggler *it = &peer->straggler;
        if (!may_return(c, peer) || c->now_ms < it->until_ms) { continue; }
        it->is_late = false;
        it->until_ms = c->now_ms;
        chief_note(c, HISTORY_RETURNED, (struct task){ROLE_WORKER, w}, peer->pid,
                   c->now_ms - it->since_ms, NULL);
    }
    find_late(c);
    find_late_evaluation(c);
}

void chief_forget_late(struct chief_peer *peer)
{
    peer->judged = 0;
    peer->evaluates_ms = 0;
    peer->straggler = (struct chief_straggler){0};
}

uint64_t chief_late_deadline_ms(const struct chief *c)
{
    uint64_t first_ms = UINT64_MAX;
    if (is_result_awaited(c) && c->now_ms < evaluation_due_ms(c, c->evaluator_worker)) {
        first_ms = evaluation_due_ms(c, c->evaluator_worker);
    }
    for (uint32_t w = 0; w < c->config.workers; w++) {
        const struct chief_peer *peer = &c->workers[w];
        if (may_return(c, peer)) { first_ms = u64_min(first_ms, peer->straggler.until_ms); }
    }
    return first_ms;
}
