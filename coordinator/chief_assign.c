/* The assignment of slices to workers: C10. */
#include <assert.h>
#include <string.h>

#include "coordinator/assign.h"
#include "coordinator/chief_private.h"

/* Whether the worker can compute, with `late` also if it was late (C23). */
static bool is_able(const struct plan *p, uint32_t worker, bool late)
{
    const struct chief *c = p->c;
    assert(worker < c->config.workers);
    return (late || !c->workers[worker].straggler.is_late) &&
           c->strategy->may_own(c, p->run, worker);
}

/* The workers that are to run (C22) and that do not leave. False: none of them is able. */
static bool choose_wanted(const struct plan *p, bool late, struct assign_input *input)
{
    const struct chief *c = p->c;
    bool is_any_ready = false;
    for (uint32_t i = 0; i < c->config.workers; i++) {
        input->ready[i] =
            run_wants_worker(p->run, i) && c->workers[i].report.leaving == 0 && is_able(p, i, late);
        is_any_ready = is_any_ready || input->ready[i];
    }
    return is_any_ready;
}

/* C24: those that keep their slices although they leave. */
static bool add_keepers(const struct plan *p, struct assign_input *input)
{
    const struct chief *c = p->c;
    bool is_any_added = false;
    if (plan_may_depart(p)) { return false; }
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (!assign_has(&c->assignment, i) || !is_able(p, i, false)) { continue; }
        input->ready[i] = is_any_added = true;
    }
    return is_any_added;
}

/* C16: if all leave, they continue to the gate; with ps, only those that are not to run. */
static bool choose_leaving(const struct plan *p, bool late, struct assign_input *input)
{
    bool is_any_ready = false;
    for (uint32_t i = 0; i < p->c->config.workers; i++) {
        const bool may_stay = p->c->strategy->survives_losses || !run_wants_worker(p->run, i);
        input->ready[i] = may_stay && is_able(p, i, late);
        is_any_ready = is_any_ready || input->ready[i];
    }
    return is_any_ready;
}

/* One that was late comes last: without ps, the values of those that leave are further. */
static void choose_workers(const struct plan *p, struct assign_input *input)
{
    const bool survives_losses = p->c->strategy->survives_losses;
    const bool is_any_wanted = choose_wanted(p, false, input);
    if (add_keepers(p, input) || is_any_wanted) { return; }
    if (survives_losses && choose_leaving(p, false, input)) { return; }
    if (!choose_wanted(p, true, input)) { (void)choose_leaving(p, true, input); }
}

/* A worker keeps its slices until it leaves or is known to be lost, so a new chief moves none. */
static void find_ready(const struct plan *p, struct assign_input *input)
{
    const struct chief *c = p->c;
    choose_workers(p, input);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (c->workers[i].reported) { input->slice_ns[i] = c->workers[i].report.slice_ns; }
    }
    for (uint32_t v = 0; v < c->assignment.slice_count; v++) {
        uint16_t owner = c->assignment.worker[v];
        if (owner >= c->config.workers) { continue; }
        const struct chief_peer *peer = &c->workers[owner];
        const bool is_unknown = !peer->known || (peer->present && !peer->reported);
        if (is_unknown && !peer->straggler.is_late) { input->ready[owner] = true; }
    }
}

/* C20: whether the speed of every owner is known, and slices have been where they are for long
 * enough. */
static bool may_balance(const struct plan *p, const struct assign_input *input)
{
    const struct chief *c = p->c;
    if (p->run->phase != RUN_RUNNING || c->now_ms < c->balance_at_ms) { return false; }
    for (uint32_t v = 0; v < c->assignment.slice_count; v++) {
        const uint16_t owner = c->assignment.worker[v];
        if (owner >= c->config.workers || input->slice_ns[owner] == 0) { return false; }
    }
    return true;
}

/* For people: a new chief does not use it. */
static void list_late(const struct chief *c, struct assignment *assignment)
{
    assignment->late_count = 0;
    memset(assignment->late, 0, sizeof assignment->late);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (!c->workers[i].straggler.is_late) { continue; }
        assignment->late[assignment->late_count++] = (uint16_t)i;
    }
}

void plan_assignment(struct plan *p)
{
    const struct chief *c = p->c;
    struct assign_input input = {.slices = c->config.slices, .push_ns = c->config.push_ns};
    assert(c->assignment.slice_count <= SLICES_MAX);
    if (p->run->phase == RUN_FORMING || p->run->phase >= RUN_DONE) { return; }
    find_ready(p, &input);
    input.balances = p->balances = may_balance(p, &input);
    p->w->for_speed = assign_slices(&c->assignment, &input, &p->w->assignment);
    plan_take_slices(p, &p->w->assignment);
    list_late(c, &p->w->assignment);
    p->w->assignment.generation = p->run->generation;
    p->w->assigns =
        !assign_equal(&c->assignment, &p->w->assignment) || (c->lost & CHIEF_LOST_ASSIGNMENT) != 0;
    if (p->w->assigns) { plan_need(p, PLAN_HARD); }
}

void chief_take_assignment(struct chief *c, const struct assignment *assignment)
{
    assert(assignment->slice_count <= SLICES_MAX);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        struct report *report = &c->workers[i].report;
        const bool is_taken = !assign_has(assignment, i) && assign_has(&c->assignment, i);
        /* Its report about its slices is older than this. */
        if (is_taken) { report->leaving = u64_min(report->leaving, LEAVING); }
        if (!assign_has(assignment, i) || assign_has(&c->assignment, i)) { continue; }
        c->workers[i].joined_ms = c->now_ms;
        c->workers[i].joined_step = chief_max_step(c, &c->run);
    }
    c->assignment = *assignment;
    c->assigned_ms = c->now_ms;
}

void chief_assigned(struct chief *c, const struct plan *p)
{
    if (p->w->for_speed) {
        c->balance_wait_ms = u64_min(c->balance_wait_ms * 2, CHIEF_BALANCE_MAX_MS);
    } else if (p->w->assigns) {
        c->balance_wait_ms = CHIEF_BALANCE_MS;
    }
    if (p->balances || p->w->assigns) { c->balance_at_ms = c->now_ms + c->balance_wait_ms; }
}
