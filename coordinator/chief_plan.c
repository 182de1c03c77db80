/*
 * The rules C2, C3, C5 and C9, which decide the contents of /run. Each rule sees the run as the
 * rules before it left it, so one write may carry several changes.
 *
 *   forming  -> loading   every ps and enough workers are ready        form()
 *   loading  -> loading, held   a checkpoint cannot be loaded          chief_load.c
 *   held     -> loading   its files are back, or an operator decided   chief_load.c
 *   loading  -> running   every ps holds the generation                plan_resume()
 *   running, stopping -> paused   a ps is lost; or the chief was, with `restore`  plan_interrupt()
 *   running  -> paused    an operator requests it                      plan_requests()
 *   paused   -> running   every ps holds the generation                plan_resume()
 *   paused   -> loading   a ps does not                                plan_load()
 *   running  -> stopping  every ps has reached the last step           finish()
 *   stopping -> done      it is committed and evaluated                finish()
 *   any      -> failed                                                 plan_fail()
 *
 * plan_resume() leaves the phase as it is while an operator wants the pause.
 */
#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "coordinator/assign.h"
#include "coordinator/chief_private.h"

void plan_need(struct plan *p, enum urgency urgency)
{
    assert(urgency != PLAN_NOTHING);
    if (urgency > p->urgency) { p->urgency = urgency; }
}

struct history_entry *plan_entry(struct plan *p, enum history_kind kind)
{
    /* Each rule adds at most one entry, and fewer rules apply at once than entries fit. */
    assert(p->w->history_count < CHIEF_HISTORY_MAX);
    struct history_entry *entry = &p->w->history[p->w->history_count++];
    *entry = (struct history_entry){
        .kind = kind,
        .wall_ms = p->c->wall_ms,
        .epoch = p->c->epoch,
        .generation = p->run->generation,
        .step = chief_max_step(p->c, p->run),
        .task = p->c->config.self,
    };
    return entry;
}

void plan_reason(struct plan *p, const char *text)
{
    assert(text != NULL);
    if (text_equal(p->run->reason, text)) { return; }
    text_set(p->run->reason, sizeof p->run->reason, text);
    plan_need(p, PLAN_SOFT);
}

/* ------------------------------------------------------------------- loading */

void plan_phase(struct plan *p, enum run_phase phase)
{
    assert(!run_is_over(p->run));
    p->run->phase = phase;
    p->run->reason[0] = '\0';
    plan_need(p, PLAN_HARD);
}

void plan_fail(struct plan *p, const char *why)
{
    assert(why != NULL);
    plan_phase(p, RUN_FAILED);
    text_set(p->run->reason, sizeof p->run->reason, why);
    p->run->save_checkpoint = p->run->save_step = 0;
    struct history_entry *entry = plan_entry(p, HISTORY_FAILED);
    text_set(entry->cause, sizeof entry->cause, why);
}

void plan_resume(struct plan *p)
{
    struct run *run = p->run;
    bool restored = run->phase == RUN_LOADING;
    assert(run->phase == RUN_LOADING || run->phase == RUN_PAUSED);
    p->clears_lost = true;
    if (run->pause_requested) {
        plan_reason(p, RUN_PAUSED_REASON);
        return;
    }
    if (restored) { plan_note_loaded(p, run->load_checkpoint); }
    run->gate = 0;
    plan_phase(p, RUN_RUNNING);
    if (run->recovery.kind != RECOVERY_NONE) {
        plan_recovered(p, restored);
        return;
    }
    struct history_entry *entry = plan_entry(p, HISTORY_RUNNING);
    if (restored) { entry->checkpoint = run->load_checkpoint; }
}

void plan_recovered(struct plan *p, bool restored)
{
    struct run *run = p->run;
    assert(run->phase == RUN_RUNNING && run->recovery.kind != RECOVERY_NONE);
    struct history_entry *entry = plan_entry(p, HISTORY_RECOVERED);
    if (restored) { entry->checkpoint = run->load_checkpoint; }
    const bool kept = run->recovery.kind == p->c->strategy->recovery && !restored;
    entry->recovery = kept ? p->c->strategy->kept : run->recovery.kind;
    entry->task = run->recovery.task;
    text_set(entry->cause, sizeof entry->cause, run->recovery.cause);
    uint64_t since_ms = run->recovery.started_wall_ms;
    entry->took_ms = p->c->wall_ms > since_ms ? p->c->wall_ms - since_ms : 0;
    if (restored && run->recovery.step > run->load_step) {
        entry->steps_redone = run->recovery.step - run->load_step;
    }
    run->recovery = (struct recovery){.kind = RECOVERY_NONE};
}

/* ------------------------------------------------------------------- forming */

static void form(struct plan *p)
{
    struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    assert(run->phase == RUN_FORMING);
    if (chief_name_missing(p->c, run, reason)) {
        plan_reason(p, reason);
        return;
    }
    if (run->generation == 0) { plan_adopt_from_disks(p); }
    bool again = run->committed_checkpoint != 0 || run->generation != 0;
    if (again && run->recovery.kind == RECOVERY_NONE) {
        run->recovery = (struct recovery){.kind = RECOVERY_RESTART,
                                          .task = p->c->config.self,
                                          .started_wall_ms = p->c->wall_ms,
                                          .step = run->committed_step};
        text_set(run->recovery.cause, sizeof run->recovery.cause, "restarted");
    }
    if (run->started_wall_ms == 0) { run->started_wall_ms = p->c->wall_ms; }
    run->until = plan_boundary(p->c, run->committed_step);
    run->ending = run->until >= p->c->config.steps;
    plan_load(
        p, (struct chief_checkpoint){.id = run->committed_checkpoint, .step = run->committed_step});
}

/* ------------------------------------------------------------- interruptions */

void plan_interrupt(struct plan *p, enum recovery_kind kind, struct task task, const char *cause)
{
    struct run *run = p->run;
    assert(kind != RECOVERY_NONE);
    assert(run->phase == RUN_RUNNING || run->phase == RUN_STOPPING || run->phase == RUN_PAUSED);
    plan_phase(p, RUN_PAUSED);
    if (run->recovery.kind == RECOVERY_NONE) {
        run->recovery = (struct recovery){
            .task = task,
            .started_wall_ms = p->c->wall_ms,
            .step = chief_max_step(p->c, run),
        };
        text_set(run->recovery.cause, sizeof run->recovery.cause, cause);
    }
    run->recovery.kind = kind;
    struct history_entry *entry = plan_entry(p, HISTORY_PAUSED);
    entry->recovery = kind;
    entry->task = task;
    text_set(entry->cause, sizeof entry->cause, cause);
}

static void watch_loss(struct plan *p)
{
    struct chief_loss loss;
    assert(p->run->phase == RUN_RUNNING || p->run->phase == RUN_STOPPING);
    if (!p->c->strategy->find_loss(p->c, p->run, &loss)) { return; }
    plan_interrupt(p, p->c->strategy->recovery, loss.task, loss.cause);
}

static void watch_pause(struct plan *p)
{
    struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    assert(run->phase == RUN_PAUSED);
    if (!chief_has_reported(p->c, run)) {
        (void)chief_name_missing(p->c, run, reason);
        plan_reason(p, reason);
        return;
    }
    if (plan_watch_leaving(p)) { return; }
    if (run->recovery.kind != RECOVERY_CHIEF && p->c->strategy->is_held(p->c, run)) {
        plan_resume(p);
        return;
    }
    run->recovery.step = u64_max(run->recovery.step, chief_max_step(p->c, run));
    if (run->recovery.kind != RECOVERY_CHIEF && p->c->inherited && p->c->strategy->is_empty(p->c)) {
        run->recovery.kind = RECOVERY_RESTART;
    }
    /* /run may be one that this chief remembers, and older than the first checkpoint. */
    if (run->recovery.kind == RECOVERY_CHIEF) { plan_adopt_from_disks(p); }
    plan_load(
        p, (struct chief_checkpoint){.id = run->committed_checkpoint, .step = run->committed_step});
}

/* ------------------------------------------------------------ term, end of the run */

static void begin_term(struct plan *p)
{
    struct run *run = p->run;
    assert(p->c->elected);
    if (p->c->opened) { return; }
    plan_need(p, PLAN_HARD);
    if (p->c->counted) { return; }
    run->elections++;
    if (!p->c->inherited || !p->c->config.restore_on_failover) { return; }
    if (run->phase == RUN_RUNNING || run->phase == RUN_STOPPING || run->phase == RUN_PAUSED) {
        plan_interrupt(p, RECOVERY_CHIEF, p->c->config.self, "a new chief was elected");
    }
}

static void finish(struct plan *p)
{
    assert(p->run == &p->w->run);
    struct run *run = p->run;
    if (run->phase == RUN_RUNNING && run->ending &&
        p->c->strategy->has_reached(p->c, run, run->until)) {
        plan_phase(p, RUN_STOPPING);
        plan_checkpoints(p);
    }
    if (run->phase != RUN_STOPPING) { return; }
    if (run->committed_step != run->until || run->evaluation.step != run->until) { return; }
    plan_phase(p, RUN_DONE);
    struct history_entry *entry = plan_entry(p, HISTORY_DONE);
    entry->step = run->until;
    entry->checkpoint = run->committed_checkpoint;
    entry->loss = run->evaluation.loss;
    entry->accuracy = run->evaluation.accuracy;
    entry->metrics = run->evaluation.metrics;
}

/* A writer has updates beyond the last step, and cannot save it. Async: those of some slice. */
static bool end_is_spoiled(const struct plan *p)
{
    const struct run *run = p->run;
    struct chief_writer writer;
    if (!run->ending || run->save_checkpoint == 0 || run->save_step != run->until) { return false; }
    for (uint32_t i = 0; p->c->strategy->find_writer(p->c, run, i, &writer); i++) {
        if (writer.holds && writer.report->late_checkpoint >= run->save_checkpoint) { return true; }
    }
    return false;
}

/* A ps passed the last step before it learned of it: move the end to a step that all ps can still
 * stop at. It may have reported the last step before, so that the run is already stopping. */
static void repair_end(struct plan *p)
{
    struct run *run = p->run;
    uint64_t reached = chief_max_step(p->c, run);
    assert(reached >= run->load_step);
    const bool stopping = run->phase == RUN_STOPPING;
    if (run->phase != RUN_RUNNING && !stopping) { return; }
    if (reached <= run->until && !end_is_spoiled(p)) { return; }
    if (stopping) { plan_phase(p, RUN_RUNNING); }
    const uint64_t passed = u64_max(reached, run->until);
    const uint64_t ahead = chief_stop_step(run, passed + 2 * chief_lead(p->c));
    run->until = u64_max(passed, u64_min(ahead, p->c->config.steps));
    plan_next_evaluation(p);
    plan_need(p, PLAN_HARD);
}

/* C21: a lost worker whose values others have, once it owns no slices: they compute the rest of the
 * step. One for each write. */
static void note_survived(struct plan *p)
{
    const struct chief *c = p->c;
    const struct run *run = p->run;
    if (run->phase != RUN_RUNNING && run->phase != RUN_STOPPING) { return; }
    if (!c->strategy->survives_losses || !c->strategy->is_held(c, run)) { return; }
    const struct assignment *assignment = p->w->assigns ? &p->w->assignment : &c->assignment;
    uint32_t worker = 0;
    while (worker < c->config.workers && (!c->workers[worker].lost || c->workers[worker].left ||
                                          assign_has(assignment, worker))) {
        worker++;
    }
    if (worker == c->config.workers) { return; }
    const struct chief_peer *peer = &c->workers[worker];
    struct history_entry *entry = plan_entry(p, HISTORY_RECOVERED);
    entry->recovery = c->strategy->kept;
    entry->task = (struct task){.role = ROLE_WORKER, .index = worker};
    text_set(entry->cause, sizeof entry->cause, peer->cause);
    entry->took_ms = c->wall_ms > peer->lost_wall_ms ? c->wall_ms - peer->lost_wall_ms : 0;
    p->survived = worker + 1;
    plan_need(p, PLAN_SOFT);
}

/* The queued entries, oldest first, as far as they fit. */
static void add_queued(struct plan *p)
{
    const struct chief *c = p->c;
    assert(p->w->history_count <= CHIEF_HISTORY_MAX);
    uint32_t room = CHIEF_HISTORY_MAX - p->w->history_count;
    p->w->queued = u32_min(c->queue_count, room);
    /* They happened before what the rules decided: put them first. */
    memmove(p->w->history + p->w->queued, p->w->history,
            p->w->history_count * sizeof p->w->history[0]);
    memcpy(p->w->history, c->queue, p->w->queued * sizeof c->queue[0]);
    p->w->history_count += p->w->queued;
    if (p->w->queued > 0) { plan_need(p, c->queue_count > room ? PLAN_HARD : PLAN_SOFT); }
}

void chief_plan(struct plan *p)
{
    struct chief_write *w = p->w;
    assert(p->c->elected);
    assert(!p->c->writing);
    assert(p->run == &w->run);
    w->history_count = w->queued = 0;
    w->commits = w->published = w->assigns = w->for_speed = w->answers = false;
    w->run = p->c->run;
    begin_term(p);
    if (p->c->lost & CHIEF_LOST_RUN) { plan_need(p, PLAN_HARD); }
    plan_workers(p);
    plan_requests(p);
    plan_inputs(p);
    if (w->run.phase == RUN_FORMING) { form(p); }
    if (w->run.phase == RUN_RUNNING || w->run.phase == RUN_STOPPING) { watch_loss(p); }
    if (w->run.phase == RUN_PAUSED) { watch_pause(p); }
    if (w->run.phase == RUN_HELD) { plan_watch_held(p); }
    if (w->run.phase == RUN_LOADING) { plan_watch_loading(p); }
    repair_end(p);
    plan_evaluation(p);
    plan_evaluator_result(p);
    plan_checkpoints(p);
    plan_evaluator_order(p);
    plan_drained(p);
    finish(p);
    plan_assignment(p);
    plan_release(p);
    note_survived(p);
    add_queued(p);
}
