/* The departure of workers: when those that leave lose their slices, and when they may go (C24). */
#include <assert.h>
#include <string.h>

#include "coordinator/assign.h"
#include "coordinator/chief_private.h"

bool chief_keeps(const struct chief *c, const struct run *run, uint32_t worker)
{
    const struct chief_peer *peer = &c->workers[worker];
    assert(c->strategy->survives_losses);
    return chief_holds(c, run, worker) && run_wants_worker(run, worker) &&
           peer->report.leaving == 0 && !peer->straggler.is_late;
}

bool chief_stays(const struct chief *c, const struct run *run, uint32_t worker)
{
    return chief_keeps(c, run, worker) && c->strategy->may_own(c, run, worker);
}

bool chief_waits_for_fetch(const struct chief *c)
{
    return c->now_ms < c->departs_ms + CHIEF_FETCH_MS;
}

uint64_t chief_fetch_deadline_ms(const struct chief *c)
{
    bool any_leaves = false;
    if (!c->strategy->survives_losses || !chief_waits_for_fetch(c)) { return UINT64_MAX; }
    for (uint32_t i = 0; i < c->config.workers; i++) {
        const struct chief_peer *peer = &c->workers[i];
        any_leaves = any_leaves || (peer->present && peer->reported && peer->report.leaving != 0);
    }
    return any_leaves ? c->departs_ms + CHIEF_FETCH_MS : UINT64_MAX;
}

/* Whether a worker keeps the values, and all that do are known to live since the last one began to
 * leave. `computes`: one of them can compute steps as well. */
static bool others_remain(const struct plan *p, bool computes)
{
    const struct chief *c = p->c;
    if (p->run->workers < c->run.workers) { return false; }
    bool any_remains = false;
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (!chief_keeps(c, p->run, i)) { continue; }
        if (c->workers[i].heard_ms < c->departs_ms + CHIEF_DEPART_MS) { return false; }
        any_remains = any_remains || !computes || chief_stays(c, p->run, i);
    }
    return any_remains;
}

bool plan_may_depart(const struct plan *p)
{
    return !p->c->strategy->survives_losses || others_remain(p, true);
}

void plan_take_slices(const struct plan *p, struct assignment *assignment)
{
    if (p->run->gate != 0) { return; /* It has to reach the gate. */ }
    if (!plan_may_depart(p)) { return; }
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        uint16_t owner = assignment->worker[v];
        if (owner >= p->c->config.workers) { continue; }
        const struct chief_peer *peer = &p->c->workers[owner];
        if (!run_wants_worker(p->run, owner)) { continue; }
        if (peer->present && peer->reported && peer->report.leaving != 0) {
            assignment->worker[v] = UINT16_MAX;
        }
    }
}

/* ----------------------------------------------------------------- released */

/* Whether training continues with the values that workers have, now or after an operator's pause,
 * and those that stay have them. With a gate each worker may become the last one that has them. */
static bool others_have_values(const struct plan *p)
{
    const struct run *run = p->run;
    if (!p->c->strategy->survives_losses || run->gate != 0) { return false; }
    return (run->phase == RUN_RUNNING || run_is_paused_by_operator(run)) && others_remain(p, false);
}

/* Whether a worker that stays has all steps that the leaving one may have made alone. */
static bool has_no_step_alone(const struct plan *p, const struct chief_peer *leaving)
{
    const struct chief *c = p->c;
    if (leaving->report.generation != p->run->generation) { return true; }
    if (leaving->report.leaving != LEAVING_WITHOUT_SLICES) { return false; }
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (!chief_keeps(c, p->run, i)) { continue; }
        if (c->workers[i].report.step >= leaving->own_step) { return true; }
    }
    return false;
}

static void list_released(const struct plan *p, struct run *run)
{
    const struct chief *c = p->c;
    run->released_count = 0;
    memset(run->released, 0, sizeof run->released);
    if (!others_have_values(p)) { return; }
    for (uint32_t i = 0; i < c->config.workers && run->released_count < RUN_RELEASED_MAX; i++) {
        const struct chief_peer *peer = &c->workers[i];
        const bool leaves = peer->present && peer->reported && peer->report.leaving != 0;
        if (!leaves || assign_has(&c->assignment, i)) { continue; }
        if (p->w->assigns && assign_has(&p->w->assignment, i)) { continue; }
        if (!has_no_step_alone(p, peer)) { continue; }
        run->released[run->released_count++] = peer->incarnation;
    }
}

/* Whether a worker that is present is released in `now`, and was not in `was`. */
static bool any_is_added(const struct chief *c, const struct run *was, const struct run *now)
{
    for (uint32_t i = 0; i < c->config.workers; i++) {
        const struct chief_peer *peer = &c->workers[i];
        if (!peer->present || !run_has_released(now, peer->incarnation)) { continue; }
        if (!run_has_released(was, peer->incarnation)) { return true; }
    }
    return false;
}

void plan_release(struct plan *p)
{
    const struct run *was = &p->c->run;
    list_released(p, p->run);
    const bool is_changed = any_is_added(p->c, was, p->run) || any_is_added(p->c, p->run, was);
    if (is_changed && !run_is_over(p->run)) { plan_need(p, PLAN_HARD); }
}
