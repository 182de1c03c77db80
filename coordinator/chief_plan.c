/*
 * The rules C2 to C5, C9 and C11, which decide the contents of /run. Each rule sees the run as the
 * rules before it left it, so one write may carry several changes.
 *
 *   forming  -> loading   every ps and enough workers are ready        form()
 *   loading  -> loading   a checkpoint cannot be loaded: the previous  fall_back()
 *   loading  -> running   every ps holds the generation                resume()
 *   running, stopping -> paused   a ps is lost; or the chief was, with `restore`  plan_interrupt()
 *   running  -> paused    an operator requests it                      plan_requests()
 *   paused   -> running   every ps holds the generation                resume()
 *   paused   -> loading   a ps does not                                start_loading()
 *   running  -> stopping  every ps has reached the last step           finish()
 *   stopping -> done      it is committed and evaluated                finish()
 *   any      -> failed                                                 plan_fail()
 *
 * resume() leaves the phase as it is while an operator wants the pause.
 */
#include <assert.h>
#include <string.h>

#include "common/base/text.h"
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

static void set_phase(struct plan *p, enum run_phase phase)
{
    assert(p->run->phase != RUN_DONE && p->run->phase != RUN_FAILED);
    p->run->phase = phase;
    p->run->reason[0] = '\0';
    plan_need(p, PLAN_HARD);
}

void plan_fail(struct plan *p, const char *why)
{
    assert(why != NULL);
    set_phase(p, RUN_FAILED);
    text_set(p->run->reason, sizeof p->run->reason, why);
    p->run->save_checkpoint = p->run->save_step = 0;
    struct history_entry *entry = plan_entry(p, HISTORY_FAILED);
    text_set(entry->cause, sizeof entry->cause, why);
}

/* C11: a generation that no node has ever seen, not even before a wipe. */
static uint64_t fresh_generation(const struct plan *p)
{
    assert(p->c->config.ps <= PS_MAX);
    uint64_t highest = p->run->generation;
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct report *report = &p->c->ps[i].report;
        highest = u64_max(highest, u64_max(report->generation, report->disk_generation));
    }
    return highest + 1;
}

static void start_loading(struct plan *p, uint64_t checkpoint, uint64_t step)
{
    struct run *run = p->run;
    assert(run->phase == RUN_FORMING || run->phase == RUN_PAUSED || run->phase == RUN_LOADING);
    run->generation = fresh_generation(p);
    run->load_checkpoint = checkpoint;
    run->load_step = step;
    run->save_checkpoint = run->save_step = 0;
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        run->last_checkpoint = u64_max(run->last_checkpoint, p->c->ps[i].report.disk_checkpoint);
    }
    /* An evaluation of a step that is lost is no longer valid. */
    if (run->evaluation.step != STEP_NONE && run->evaluation.step > step) {
        run->evaluation = (struct evaluation){.step = STEP_NONE};
    }
    if (run->until < step) { run->until = step; }
    plan_next_evaluation(p);
    set_phase(p, RUN_LOADING);
}

/* The newest committed checkpoint before `id`; id 0: the initial values. */
static struct chief_checkpoint checkpoint_before(const struct chief *c, uint64_t id)
{
    assert(c->checkpoint_count <= CHIEF_CHECKPOINTS_MAX);
    struct chief_checkpoint found = {0};
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        if (c->checkpoints[i].id < id) { found = c->checkpoints[i]; }
    }
    return found;
}

static void fall_back(struct plan *p, uint32_t index)
{
    struct run *run = p->run;
    struct task task = {.role = ROLE_PS, .index = index};
    char cause[RUN_TEXT_MAX];
    struct text text = text_begin(cause, sizeof cause);
    assert(run->phase == RUN_LOADING);
    assert(index < p->c->config.ps);
    task_append(&text, task);
    if (run->load_checkpoint == 0) {
        text_add(&text, " cannot make the initial values");
        plan_fail(p, cause);
        return;
    }
    struct chief_checkpoint older = checkpoint_before(p->c, run->load_checkpoint);
    struct history_entry *entry = plan_entry(p, HISTORY_FALLBACK);
    entry->checkpoint = run->load_checkpoint;
    entry->step = run->load_step;
    entry->task = task;
    text_add(&text, " cannot load it; ");
    text_add(&text, older.id != 0 ? "loading checkpoint " : "starting from the initial values");
    if (older.id != 0) { text_add_number(&text, older.id); }
    text_set(entry->cause, sizeof entry->cause, cause);
    run->committed_checkpoint = older.id;
    run->committed_step = older.step;
    start_loading(p, older.id, older.step);
}

/* Every ps holds the generation: run, and record the recovery that ends here. */
static void resume(struct plan *p)
{
    struct run *run = p->run;
    bool restored = run->phase == RUN_LOADING;
    assert(run->phase == RUN_LOADING || run->phase == RUN_PAUSED);
    p->clears_lost = true;
    if (run->held) {
        plan_reason(p, "paused by an operator");
        return;
    }
    set_phase(p, RUN_RUNNING);
    bool first = run->recovery.kind == RECOVERY_NONE;
    struct history_entry *entry = plan_entry(p, first ? HISTORY_RUNNING : HISTORY_RECOVERED);
    if (restored) { entry->checkpoint = run->load_checkpoint; }
    if (first) { return; }
    entry->recovery = run->recovery.kind;
    entry->task = run->recovery.task;
    text_set(entry->cause, sizeof entry->cause, run->recovery.cause);
    uint64_t since_ms = run->recovery.started_wall_ms;
    entry->took_ms = p->c->wall_ms > since_ms ? p->c->wall_ms - since_ms : 0;
    if (restored && run->recovery.step > run->load_step) {
        entry->steps_redone = run->recovery.step - run->load_step;
    }
    run->recovery = (struct recovery){.kind = RECOVERY_NONE};
}

static void watch_loading(struct plan *p)
{
    assert(p->run->phase == RUN_LOADING);
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct report *report = &p->c->ps[i].report;
        bool failed = chief_ps_reported(p->c, i) &&
                      report->failed_load_generation == p->run->generation &&
                      report->failed_load == p->run->load_checkpoint;
        if (!failed) { continue; }
        fall_back(p, i);
        return;
    }
    if (chief_all_ps_hold(p->c, p->run)) { resume(p); }
}

/* ------------------------------------------------------------------- forming */

/* C11: when ZooKeeper was wiped, the oldest of the newest checkpoints of all disks is the committed
 * one, for every disk holds it. */
static void adopt_from_disks(struct plan *p)
{
    const struct report *oldest = NULL;
    struct run *run = p->run;
    assert(run->phase == RUN_FORMING);
    uint32_t without = 0, with = 0, empty = 0;
    if (run->committed_checkpoint != 0 || run->generation != 0) { return; }
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct report *report = &p->c->ps[i].report;
        if (report->disk_checkpoint == 0) {
            without++;
            empty = i;
            continue;
        }
        with++;
        if (oldest == NULL || report->disk_checkpoint < oldest->disk_checkpoint) {
            oldest = report;
        }
    }
    if (with == 0) { return; }
    if (without == 0) {
        run->committed_checkpoint = oldest->disk_checkpoint;
        run->committed_step = oldest->disk_step;
        return;
    }
    struct history_entry *entry = plan_entry(p, HISTORY_FALLBACK);
    entry->checkpoint = oldest->disk_checkpoint;
    entry->task = (struct task){.role = ROLE_PS, .index = empty};
    text_set(entry->cause, sizeof entry->cause,
             "it is not on every disk; starting from the initial values");
}

static void form(struct plan *p)
{
    struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    assert(run->phase == RUN_FORMING);
    if (chief_name_missing(p->c, reason)) {
        plan_reason(p, reason);
        return;
    }
    adopt_from_disks(p);
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
    start_loading(p, run->committed_checkpoint, run->committed_step);
}

/* ------------------------------------------------------------- interruptions */

void plan_interrupt(struct plan *p, enum recovery_kind kind, struct task task, const char *cause)
{
    struct run *run = p->run;
    assert(kind != RECOVERY_NONE);
    assert(run->phase == RUN_RUNNING || run->phase == RUN_STOPPING || run->phase == RUN_PAUSED);
    set_phase(p, RUN_PAUSED);
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

static void watch_ps(struct plan *p)
{
    assert(p->run->phase == RUN_RUNNING || p->run->phase == RUN_STOPPING);
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct chief_peer *peer = &p->c->ps[i];
        bool gone = peer->known && !peer->present;
        bool other = chief_ps_reported(p->c, i) && !chief_ps_holds(p->c, p->run, i);
        if (!gone && !peer->lost && !other) { continue; }
        const char *cause = peer->cause[0] != '\0' ? peer->cause : "not running";
        if (!gone && !peer->lost) { cause = "does not hold the values of this generation"; }
        plan_interrupt(p, RECOVERY_PS, (struct task){.role = ROLE_PS, .index = i}, cause);
        return;
    }
}

static void watch_pause(struct plan *p)
{
    struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    assert(run->phase == RUN_PAUSED);
    if (!chief_all_ps_reported(p->c)) {
        (void)chief_name_missing(p->c, reason);
        plan_reason(p, reason);
        return;
    }
    if (run->recovery.kind != RECOVERY_CHIEF && chief_all_ps_hold(p->c, run)) {
        resume(p);
        return;
    }
    run->recovery.step = u64_max(run->recovery.step, chief_max_step(p->c, run));
    if (run->recovery.kind != RECOVERY_CHIEF && p->c->inherited && chief_all_ps_empty(p->c)) {
        run->recovery.kind = RECOVERY_RESTART;
    }
    start_loading(p, run->committed_checkpoint, run->committed_step);
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
    if (run->phase == RUN_RUNNING && run->ending && chief_all_ps_at(p->c, run, run->until)) {
        set_phase(p, RUN_STOPPING);
        plan_checkpoints(p);
    }
    if (run->phase != RUN_STOPPING) { return; }
    if (run->committed_step != run->until || run->evaluation.step != run->until) { return; }
    set_phase(p, RUN_DONE);
    struct history_entry *entry = plan_entry(p, HISTORY_DONE);
    entry->step = run->until;
    entry->checkpoint = run->committed_checkpoint;
    entry->loss = run->evaluation.loss;
    entry->accuracy = run->evaluation.accuracy;
}

/* A ps passed the last step before it learned of it: move the end to a step that all ps can still
 * stop at. */
static void repair_end(struct plan *p)
{
    struct run *run = p->run;
    uint64_t reached = chief_max_step(p->c, run);
    assert(reached >= run->load_step);
    if (run->phase != RUN_RUNNING || reached <= run->until) { return; }
    run->until = u64_max(reached, u64_min(reached + 2 * chief_lead(p->c), p->c->config.steps));
    plan_next_evaluation(p);
    plan_need(p, PLAN_HARD);
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
    w->commits = w->assigns = w->answers = false;
    w->run = p->c->run;
    begin_term(p);
    plan_requests(p);
    if (w->run.phase == RUN_FORMING) { form(p); }
    if (w->run.phase == RUN_RUNNING || w->run.phase == RUN_STOPPING) { watch_ps(p); }
    if (w->run.phase == RUN_PAUSED) { watch_pause(p); }
    if (w->run.phase == RUN_LOADING) { watch_loading(p); }
    repair_end(p);
    plan_evaluation(p);
    plan_checkpoints(p);
    finish(p);
    plan_assignment(p);
    add_queued(p);
}
