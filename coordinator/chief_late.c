/* Backup work: the slices of a worker that delays the others are given to them (C23). */
#include <assert.h>

#include "coordinator/chief_private.h"

/* The owner of slice 0 evaluates between two steps, which takes it much longer than a step. It is
 * not late before it has needed several times as long as it has needed before. */
static bool may_evaluate(const struct chief *c, uint32_t worker)
{
    const uint64_t longest_ms = c->evaluation_ms * CHIEF_LATE_EVALUATION;
    if (!c->evaluates || c->assignment.worker[0] != worker) { return false; }
    return c->evaluation_ms == 0 || c->now_ms < c->evaluates_ms + longest_ms;
}

static void time_evaluation(struct chief *c)
{
    const struct run *run = &c->run;
    const bool evaluates = run->phase == RUN_RUNNING && run->evaluate_step != STEP_NONE &&
                           chief_max_step(c, run) >= run->evaluate_step;
    if (evaluates && !c->evaluates) { c->evaluates_ms = c->now_ms; }
    if (!evaluates && c->evaluates && run->phase == RUN_RUNNING) {
        c->evaluation_ms = u64_max(c->evaluation_ms, c->now_ms - c->evaluates_ms + 1);
    }
    c->evaluates = evaluates;
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
}

void chief_forget_late(struct chief_peer *peer)
{
    peer->judged = 0;
    peer->straggler = (struct chief_straggler){0};
}

uint64_t chief_late_deadline_ms(const struct chief *c)
{
    uint64_t first_ms = UINT64_MAX;
    for (uint32_t w = 0; w < c->config.workers; w++) {
        const struct chief_peer *peer = &c->workers[w];
        if (may_return(c, peer)) { first_ms = u64_min(first_ms, peer->straggler.until_ms); }
    }
    return first_ms;
}
