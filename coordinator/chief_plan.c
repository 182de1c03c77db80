/*
 * The rules C2 to C5, C9 and C10: what /run should say. Each looks at the run as the ones before it
 * left it, so that one write may carry several changes.
 *
 *   forming  -> loading   everybody needed is there                    form()
 *   loading  -> loading   a checkpoint cannot be loaded: the one before  fall_back()
 *   loading  -> running   every ps holds the generation and nobody wants a pause  go_on()
 *   running, stopping -> paused    a ps is lost; or the chief was, with `restore`  plan_interrupt()
 *   running  -> paused    an operator wants it                         plan_requests()
 *   paused   -> running   every ps holds the generation                go_on()
 *   paused   -> loading   one does not                                 start_loading()
 *   running  -> stopping  the last step is everywhere                  finish()
 *   stopping -> done      it is committed and evaluated                finish()
 *   any      -> failed    plan_fail()
 */
#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

void plan_need(struct plan *p, enum urgency urgency)
{
    if (urgency > p->urgency) { p->urgency = urgency; }
}

struct history_entry *plan_entry(struct plan *p, enum history_kind kind)
{
    /* A rule adds one entry at most, and fewer rules apply at once than there are places. */
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

/* -------------------------------------------------------------- what there is */

static bool ps_reported(const struct chief *c, uint32_t index)
{
    return c->ps[index].present && c->ps[index].reported;
}

bool chief_ps_holds(const struct chief *c, const struct run *run, uint32_t index)
{
    return ps_reported(c, index) && c->ps[index].report.generation == run->generation &&
           run->generation != 0;
}

uint64_t chief_max_step(const struct chief *c, const struct run *run)
{
    uint64_t step = run->load_step;
    for (uint32_t i = 0; i < c->config.ps; i++) {
        /* Also of one that went: what it had reached is what may be lost. */
        const struct report *report = &c->ps[i].report;
        if (report->generation == run->generation) { step = most(step, report->step); }
    }
    return step;
}

static bool all_ps_reported(const struct chief *c)
{
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!ps_reported(c, i)) { return false; }
    }
    return true;
}

static bool all_ps_hold(const struct chief *c, const struct run *run)
{
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!chief_ps_holds(c, run, i)) { return false; }
    }
    return true;
}

bool chief_worker_ready(const struct chief_peer *peer)
{
    return peer->present && peer->reported && peer->report.ready != 0;
}

static uint32_t workers_ready(const struct chief *c)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->config.workers; i++) {
        count += chief_worker_ready(&c->workers[i]);
    }
    return count;
}

/* Names every ps that is missing or has not reported, as far as there is room. */
static bool name_missing(const struct chief *c, char reason[static RUN_TEXT_MAX])
{
    struct text text = text_begin(reason, RUN_TEXT_MAX);
    text_add(&text, "waiting for ");
    uint32_t named = 0;
    for (uint32_t i = 0; i < c->config.ps; i++) {
        const struct chief_peer *peer = &c->ps[i];
        if (ps_reported(c, i)) { continue; }
        if (named++ > 0) { text_add(&text, ", "); }
        task_append(&text, (struct task){.role = ROLE_PS, .index = i});
        if (peer->present) { text_add(&text, " (no report yet)"); }
        if (!peer->present && peer->cause[0] != '\0') {
            text_add(&text, " (");
            text_add(&text, peer->cause);
            text_add(&text, ")");
        }
    }
    uint32_t ready = workers_ready(c), wanted = c->config.min_workers;
    if (c->run.phase == RUN_FORMING && ready < wanted) {
        if (named++ > 0) { text_add(&text, ", "); }
        text_add(&text, "workers (");
        text_add_number(&text, ready);
        text_add(&text, " of ");
        text_add_number(&text, wanted);
        text_add(&text, " ready)");
    }
    return named > 0;
}

void plan_reason(struct plan *p, const char *words)
{
    if (text_equal(p->run->reason, words)) { return; }
    text_set(p->run->reason, sizeof p->run->reason, words);
    plan_need(p, PLAN_SOFT);
}

/* ------------------------------------------------------------------- loading */

static void set_phase(struct plan *p, enum run_phase phase)
{
    p->run->phase = phase;
    p->run->reason[0] = '\0';
    plan_need(p, PLAN_HARD);
}

void plan_fail(struct plan *p, const char *why)
{
    set_phase(p, RUN_FAILED);
    text_set(p->run->reason, sizeof p->run->reason, why);
    p->run->save_checkpoint = p->run->save_step = 0;
    struct history_entry *entry = plan_entry(p, HISTORY_FAILED);
    text_set(entry->cause, sizeof entry->cause, why);
}

/* C11: a generation that nobody has ever seen, also not before a wipe. */
static uint64_t fresh_generation(const struct plan *p)
{
    uint64_t highest = p->run->generation;
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct report *report = &p->c->ps[i].report;
        highest = most(highest, most(report->generation, report->disk_generation));
    }
    return highest + 1;
}

static void start_loading(struct plan *p, uint64_t checkpoint, uint64_t step)
{
    struct run *run = p->run;
    run->generation = fresh_generation(p);
    run->load_checkpoint = checkpoint;
    run->load_step = step;
    run->save_checkpoint = run->save_step = 0;
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        run->last_checkpoint = most(run->last_checkpoint, p->c->ps[i].report.disk_checkpoint);
    }
    /* An evaluation of steps that are gone says nothing any more. */
    if (run->evaluation.step != STEP_NONE && run->evaluation.step > step) {
        run->evaluation = (struct evaluation){.step = STEP_NONE};
    }
    if (run->until < step) { run->until = step; }
    plan_next_evaluation(p);
    set_phase(p, RUN_LOADING);
}

/* The newest committed checkpoint before `id`, or the initial values. */
static struct chief_checkpoint checkpoint_before(const struct chief *c, uint64_t id)
{
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
    char words[RUN_TEXT_MAX];
    struct text text = text_begin(words, sizeof words);
    task_append(&text, task);
    if (run->load_checkpoint == 0) {
        text_add(&text, " cannot make the initial values");
        plan_fail(p, words);
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
    text_set(entry->cause, sizeof entry->cause, words);
    run->committed_checkpoint = older.id;
    run->committed_step = older.step;
    start_loading(p, older.id, older.step);
}

/* Everything is as it should be: say what was mended. */
static void go_on(struct plan *p)
{
    struct run *run = p->run;
    bool restored = run->phase == RUN_LOADING;
    p->clears_lost = true;
    if (run->held) {
        plan_reason(p, "an operator wants the pause");
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
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct report *report = &p->c->ps[i].report;
        bool failed = ps_reported(p->c, i) &&
                      report->failed_load_generation == p->run->generation &&
                      report->failed_load == p->run->load_checkpoint;
        if (!failed) { continue; }
        fall_back(p, i);
        return;
    }
    if (all_ps_hold(p->c, p->run)) { go_on(p); }
}

/* ------------------------------------------------------------------- forming */

/* C11: over a wiped ZooKeeper the checkpoint that every disk holds is the committed one. */
static void adopt_from_disks(struct plan *p)
{
    const struct report *oldest = NULL;
    struct run *run = p->run;
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
    if (name_missing(p->c, reason)) {
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
        text_set(run->recovery.cause, sizeof run->recovery.cause, "started again");
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
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct chief_peer *peer = &p->c->ps[i];
        bool gone = peer->known && !peer->present;
        bool other = ps_reported(p->c, i) && !chief_ps_holds(p->c, p->run, i);
        if (!gone && !peer->lost && !other) { continue; }
        const char *cause = peer->cause[0] != '\0' ? peer->cause : "not there";
        if (!gone && !peer->lost) { cause = "came back without its values"; }
        plan_interrupt(p, RECOVERY_PS, (struct task){.role = ROLE_PS, .index = i}, cause);
        return;
    }
}

/* Nothing survived: everybody was started again. */
static bool all_ps_empty(const struct chief *c)
{
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (c->ps[i].report.generation != 0) { return false; }
    }
    return true;
}

static void watch_pause(struct plan *p)
{
    struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    if (!all_ps_reported(p->c)) {
        (void)name_missing(p->c, reason);
        plan_reason(p, reason);
        return;
    }
    if (run->recovery.kind != RECOVERY_CHIEF && all_ps_hold(p->c, run)) {
        go_on(p);
        return;
    }
    run->recovery.step = most(run->recovery.step, chief_max_step(p->c, run));
    if (run->recovery.kind != RECOVERY_CHIEF && p->c->inherited && all_ps_empty(p->c)) {
        run->recovery.kind = RECOVERY_RESTART;
    }
    start_loading(p, run->committed_checkpoint, run->committed_step);
}

/* -------------------------------------------------------------------- office */

static void open_office(struct plan *p)
{
    struct run *run = p->run;
    if (p->c->opened) { return; }
    plan_need(p, PLAN_HARD);
    if (p->c->counted) { return; }
    run->elections++;
    if (!p->c->inherited || !p->c->config.restore_on_failover) { return; }
    if (run->phase == RUN_RUNNING || run->phase == RUN_STOPPING || run->phase == RUN_PAUSED) {
        plan_interrupt(p, RECOVERY_CHIEF, p->c->config.self, "a new chief took office");
    }
}

static bool all_ps_at(const struct plan *p, uint64_t step)
{
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        if (!chief_ps_holds(p->c, p->run, i) || p->c->ps[i].report.step != step) { return false; }
    }
    return true;
}

static void finish(struct plan *p)
{
    struct run *run = p->run;
    if (run->phase == RUN_RUNNING && run->ending && all_ps_at(p, run->until)) {
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

/* Somebody passed the end before he heard of it: it is put where all can meet. */
static void mend_end(struct plan *p)
{
    struct run *run = p->run;
    uint64_t reached = chief_max_step(p->c, run);
    if (run->phase != RUN_RUNNING || reached <= run->until) { return; }
    run->until = most(reached, least(reached + 2 * chief_lead(p->c), p->c->config.steps));
    plan_next_evaluation(p);
    plan_need(p, PLAN_HARD);
}

/* Entries that wait, as far as there is room; the oldest first. */
static void tell_queued(struct plan *p)
{
    const struct chief *c = p->c;
    uint32_t room = CHIEF_HISTORY_MAX - p->w->history_count;
    p->w->queued = c->queue_count < room ? c->queue_count : room;
    /* They happened before what the rules say: put them in front. */
    memmove(p->w->history + p->w->queued, p->w->history,
            p->w->history_count * sizeof p->w->history[0]);
    memcpy(p->w->history, c->queue, p->w->queued * sizeof c->queue[0]);
    p->w->history_count += p->w->queued;
    if (p->w->queued > 0) { plan_need(p, c->queue_count > room ? PLAN_HARD : PLAN_SOFT); }
}

void chief_plan(struct plan *p)
{
    struct chief_write *w = p->w;
    w->history_count = w->queued = 0;
    w->commits = w->assigns = w->answers = false;
    w->run = p->c->run;
    open_office(p);
    plan_requests(p);
    if (w->run.phase == RUN_FORMING) { form(p); }
    if (w->run.phase == RUN_RUNNING || w->run.phase == RUN_STOPPING) { watch_ps(p); }
    if (w->run.phase == RUN_PAUSED) { watch_pause(p); }
    if (w->run.phase == RUN_LOADING) { watch_loading(p); }
    mend_end(p);
    plan_evaluation(p);
    plan_checkpoints(p);
    finish(p);
    plan_assignment(p);
    tell_queued(p);
}
