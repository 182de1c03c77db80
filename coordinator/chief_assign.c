/* The assignment of slices to workers: C10. */
#include <assert.h>

#include "coordinator/assign.h"
#include "coordinator/chief_private.h"

/* Training continues without the workers that leave; it waits if all do. */
static void release_slices(const struct plan *p, struct assignment *assignment)
{
    if (p->run->gate != 0) { return; /* It has to reach the gate. */ }
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        uint16_t owner = assignment->worker[v];
        if (owner >= p->c->config.workers) { continue; }
        const struct chief_peer *peer = &p->c->workers[owner];
        if (peer->present && peer->reported && peer->report.leaving != 0) {
            assignment->worker[v] = UINT16_MAX;
        }
    }
}

/* A worker keeps its slices until it leaves or is known to be lost, so a new chief moves none. */
static void find_ready(const struct plan *p, struct assign_input *input)
{
    const struct chief *c = p->c;
    for (uint32_t i = 0; i < c->config.workers; i++) {
        input->ready[i] = c->strategy->may_own(c, p->run, i);
        if (c->workers[i].reported) { input->slice_ns[i] = c->workers[i].report.slice_ns; }
    }
    for (uint32_t v = 0; v < c->assignment.slice_count; v++) {
        uint16_t owner = c->assignment.worker[v];
        if (owner >= c->config.workers) { continue; }
        const struct chief_peer *peer = &c->workers[owner];
        if (!peer->known || (peer->present && !peer->reported)) { input->ready[owner] = true; }
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

void plan_assignment(struct plan *p)
{
    const struct chief *c = p->c;
    struct assign_input input = {.slices = c->config.slices, .push_ns = c->config.push_ns};
    assert(c->assignment.slice_count <= SLICES_MAX);
    if (p->run->phase == RUN_FORMING || p->run->phase >= RUN_DONE) { return; }
    find_ready(p, &input);
    input.balances = p->balances = may_balance(p, &input);
    p->w->for_speed = assign_slices(&c->assignment, &input, &p->w->assignment);
    release_slices(p, &p->w->assignment);
    p->w->assignment.generation = p->run->generation;
    p->w->assigns =
        !assign_equal(&c->assignment, &p->w->assignment) || (c->lost & CHIEF_LOST_ASSIGNMENT) != 0;
    if (p->w->assigns) { plan_need(p, PLAN_HARD); }
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
