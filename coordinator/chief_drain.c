/*
 * The rule C16: a ps that was asked to leave, or without ps all workers, do so without the loss of
 * a step.
 *
 *   running -> running   the gate is set a little ahead                plan_gate()
 *   running -> paused    the checkpoint of the gate is committed       plan_drained()
 *   paused -> running    an operator's pause: up to the gate only      plan_watch_leaving()
 *   running -> paused    the gate of an operator's pause is withdrawn  withdraw_gate()
 *
 * The gate stands in /run until a generation is loaded or the run continues.
 */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

/* Without ps: whether the run still waits for workers that stay. */
static bool waits_for_others(const struct chief *c, const struct run *run)
{
    /* In a pause none fetches values or makes a step. */
    return run->phase == RUN_RUNNING && chief_waits_for_fetch(c);
}

/* Whether the holder has to confirm the gate. Without ps, one that has no values makes no step; but
 * while the run is running it can fetch them, so that values remain when the others have left. */
static bool must_confirm(const struct chief *c, const struct run *run, uint32_t index)
{
    const struct chief_peer *holder = chief_holder(c, index);
    if (!c->strategy->survives_losses || !holder->known) { return true; }
    if (!holder->present) { return false; }
    if (!holder->reported || chief_holds(c, run, index)) { return true; }
    const bool goes = holder->report.leaving != 0 || !run_wants_worker(run, index);
    return !goes && waits_for_others(c, run);
}

/* Without ps: whether those that are to go on from the gate have its step, which others may have
 * alone. */
static bool is_reached_by_all(const struct chief *c, const struct run *run)
{
    for (uint32_t i = 0; i < c->config.workers && waits_for_others(c, run); i++) {
        const struct report *report = &c->workers[i].report;
        if (!chief_holds(c, run, i) || report->leaving != 0) { continue; }
        if (report->step != run->gate) { return false; }
    }
    return true;
}

/* Whether no holder still passes the gate, and its checkpoint is committed. A ps that has not
 * read of the gate may still apply pushes that were sent before. */
static bool is_at_gate(const struct chief *c, const struct run *run)
{
    if (run->gate == 0 || run->committed_step != run->gate) { return false; }
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        if (!must_confirm(c, run, i)) { continue; }
        if (chief_holder(c, i)->report.gate != run->gate) { return false; }
    }
    return c->strategy->survives_losses ? is_reached_by_all(c, run)
                                        : c->strategy->has_reached(c, run, run->gate);
}

/* With ps: whether all have exactly `step`, and can save it. A push that is still on its way may
 * take them further until they read of a gate there: see has_passed(). */
static bool can_stay_at(const struct chief *c, const struct run *run, uint64_t step)
{
    for (uint32_t i = 0; i < chief_holder_count(c) && !c->strategy->survives_losses; i++) {
        const struct report *report = &chief_holder(c, i)->report;
        if (report->gate != run->gate || report->beyond != 0) { return false; }
    }
    return c->strategy->has_reached(c, run, step);
}

/* Whether no worker is present that could go on from `step`. */
static bool has_stopped(const struct chief *c, const struct run *run, uint64_t step)
{
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (chief_worker_ready(&c->workers[i])) { return false; }
    }
    return can_stay_at(c, run, step);
}

/* Whether a ps can never confirm the gate, because it holds a part of the step after it. */
static bool has_passed(const struct chief *c, const struct run *run)
{
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        const struct report *report = &chief_holder(c, i)->report;
        if (chief_holds(c, run, i) && report->beyond != 0 && report->step >= run->gate) {
            return true;
        }
    }
    return false;
}

static void set_gate(struct plan *p, uint64_t step)
{
    if (p->run->gate == step) { return; }
    p->run->gate = step;
    if (p->run->phase == RUN_RUNNING) { plan_reason(p, ""); /* The former gate. */ }
    plan_need(p, PLAN_HARD);
}

/* A gate `ahead` of the step reached, at most the last step. */
static void set_gate_ahead(struct plan *p, uint64_t ahead)
{
    const struct run *run = p->run;
    const uint64_t reached = chief_max_step(p->c, run);
    const uint64_t step = chief_stop_step(run, reached + ahead);
    set_gate(p, u64_min(u64_max(run->until, reached), step));
}

/* No node leaves now. A run that an operator has paused trained on only to reach the gate. */
static void withdraw_gate(struct plan *p)
{
    struct run *run = p->run;
    set_gate(p, 0);
    if (!run->pause_requested) {
        if (run->recovery.kind != RECOVERY_NONE) { plan_recovered(p, false); }
        return;
    }
    const bool was_paused = run->recovery.kind == RECOVERY_OPERATOR;
    const char *by = was_paused ? run->recovery.cause : "operator";
    plan_interrupt(p, RECOVERY_OPERATOR, p->c->config.self, by);
}

void plan_gate(struct plan *p)
{
    const struct chief *c = p->c;
    struct run *run = p->run;
    uint32_t holder;
    if (run->phase != RUN_RUNNING) { return; }
    uint64_t reached = chief_max_step(c, run), last = u64_max(run->until, reached);
    if (!c->strategy->find_leaving(c, run, &holder)) {
        /* A new chief waits for the reports of all ps before it takes the order back. */
        if (chief_has_reported(c, run)) { withdraw_gate(p); }
    } else if (run->gate == 0) {
        set_gate_ahead(p, chief_lead(c));
    } else if (reached > run->gate || p->late || has_passed(c, run)) {
        set_gate(p, u64_min(last, u64_max(reached, run->gate) + 2 * chief_lead(c)));
    } else if (reached > 0 && has_stopped(c, run, reached)) {
        set_gate(p, reached);
    }
}

void plan_drained(struct plan *p)
{
    const struct chief *c = p->c;
    struct run *run = p->run;
    uint32_t holder;
    if (run->phase != RUN_RUNNING || run->gate == 0) { return; }
    if (!c->strategy->find_leaving(c, run, &holder)) { return; }
    const bool ends = run->ending && run->gate >= run->until;
    const bool evaluated = run->evaluate_step == STEP_NONE || run->evaluate_step > run->gate;
    if (ends || !evaluated || !is_at_gate(c, run)) { return; }
    char cause[RUN_TEXT_MAX];
    struct text text = text_begin(cause, sizeof cause);
    text_add(&text, RUN_DRAINED_CAUSE " from ");
    text_add(&text, chief_holder(c, holder)->report.place);
    plan_interrupt(p, c->strategy->recovery, chief_holder_task(c, holder), cause);
}

bool plan_watch_leaving(struct plan *p)
{
    const struct chief *c = p->c;
    struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    struct text text = text_begin(reason, sizeof reason);
    uint32_t holder;
    assert(run->phase == RUN_PAUSED);
    if (!c->strategy->find_leaving(c, run, &holder) || !c->strategy->is_held(c, run)) {
        return false;
    }
    if (run->recovery.kind == RECOVERY_CHIEF) { return false; }
    if (run->recovery.kind == RECOVERY_OPERATOR || !is_at_gate(c, run)) {
        /* A ps was lost, and has kept its values: the run continues as without a drain. */
        if (run->recovery.kind != RECOVERY_OPERATOR && !run->pause_requested) { return false; }
        p->clears_lost = true;
        plan_phase(p, RUN_RUNNING);
        set_gate_ahead(p, 0);
        return true;
    }
    task_append(&text, chief_holder_task(c, holder));
    text_add(&text, " leaves ");
    text_add(&text, chief_holder(c, holder)->report.place);
    text_add(&text, " (drained)");
    plan_reason(p, reason);
    return true;
}
