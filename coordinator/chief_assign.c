/* The assignment of slices to workers: C10. */
#include <assert.h>
#include <string.h>

#include "coordinator/assign.h"
#include "coordinator/chief_private.h"

/* The workers that are to run (C22); with `late` also those that were late (C23). False:
 * none of them is ready. */
static bool choose_wanted(const struct plan *p, bool late, struct assign_input *input)
{
    const struct chief *c = p->c;
    bool is_any_ready = false;
    for (uint32_t i = 0; i < c->config.workers; i++) {
        const struct chief_peer *peer = &c->workers[i];
        input->ready[i] = run_wants_worker(p->run, i) && peer->report.leaving == 0 &&
                          (late || !peer->straggler.is_late) && c->strategy->may_own(c, p->run, i);
        is_any_ready = is_any_ready || input->ready[i];
    }
    return is_any_ready;
}

/* While none of those that are to run is ready, the others. C16: if all leave, they continue to the
 * gate. */
static void choose_workers(const struct plan *p, struct assign_input *input)
{
    const struct chief *c = p->c;
    const bool is_any_ready = choose_wanted(p, false, input) || choose_wanted(p, true, input);
    for (uint32_t i = 0; i < c->config.workers && !plan_may_depart(p); i++) {
        const bool owns = assign_has(&c->assignment, i) && c->strategy->may_own(c, p->run, i);
        input->ready[i] = input->ready[i] || (owns && !c->workers[i].straggler.is_late);
    }
    for (uint32_t i = 0; i < c->config.workers && !is_any_ready; i++) {
        const bool may_stay = c->strategy->survives_losses || !run_wants_worker(p->run, i);
        input->ready[i] = may_stay && c->strategy->may_own(c, p->run, i);
    }
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
