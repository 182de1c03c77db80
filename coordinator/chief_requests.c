/* Requests of operators, and the assignment of slices to workers: C10. */
#include <assert.h>

#include "coordinator/assign.h"
#include "coordinator/chief_private.h"

/* ------------------------------------------------------------------ requests */

void plan_end_soon(struct plan *p)
{
    struct run *run = p->run;
    assert(run->phase != RUN_DONE);
    assert(run->phase != RUN_FAILED);
    run->pause_requested = false;
    if (run->phase == RUN_FORMING) {
        plan_fail(p, RUN_STOPPED_REASON);
        return;
    }
    if (run->ending && run->phase == RUN_STOPPING) { return; }
    run->ending = true;
    run->until = u64_min(run->until, chief_max_step(p->c, run) + chief_lead(p->c));
    if (run->evaluate_step != STEP_NONE) { plan_next_evaluation(p); }
}

static void hold(struct plan *p)
{
    assert(p->c->request.waits);
    if (p->run->phase == RUN_STOPPING) { return; }
    p->run->pause_requested = true;
    if (p->run->phase == RUN_RUNNING) {
        plan_interrupt(p, RECOVERY_OPERATOR, p->c->config.self, p->c->request.by);
    }
}

/* Orders a checkpoint as if one were due. */
static void save_soon(struct plan *p)
{
    struct run *run = p->run;
    uint64_t step = chief_max_step(p->c, run) + chief_lead(p->c);
    assert(p->c->request.waits);
    if (run->phase != RUN_RUNNING || (run->ending && step >= run->until)) { return; }
    if (run->save_checkpoint != 0 && run->save_step <= step) { return; }
    if (run->save_due != 0) { step = u64_min(step, run->save_due); }
    plan_order(p, step, PLAN_HARD);
}

void plan_requests(struct plan *p)
{
    const struct chief_request *request = &p->c->request;
    if (!request->waits) { return; }
    p->w->answers = true;
    p->w->request = request->id;
    plan_need(p, PLAN_HARD);
    if (run_is_over(p->run)) { return; }
    switch (request->kind) {
    case REQUEST_STOP: plan_end_soon(p); break;
    case REQUEST_RESIGN: break; /* The chief resigns once this write is done. */
    case REQUEST_PAUSE: hold(p); break;
    case REQUEST_RESUME: p->run->pause_requested = false; break;
    case REQUEST_CHECKPOINT: save_soon(p); break;
    case REQUEST_RESTORE: plan_restore(p, request->path); break;
    case REQUEST_ACCEPT_LOSS: plan_accept_loss(p, request->step); break;
    case REQUEST_DRAIN: break; /* For agents: not in /requests. */
    case REQUEST_KINDS: assert(false);
    }
}

/* --------------------------------------------------------------- assignment */

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
void plan_assignment(struct plan *p)
{
    const struct chief *c = p->c;
    struct assign_input input = {.slices = c->config.slices, .push_ns = c->config.push_ns};
    assert(c->assignment.slice_count <= SLICES_MAX);
    if (p->run->phase == RUN_FORMING || p->run->phase >= RUN_DONE) { return; }
    for (uint32_t i = 0; i < c->config.workers; i++) {
        input.ready[i] = chief_worker_agrees(c, p->run, i) && c->workers[i].report.leaving == 0;
    }
    for (uint32_t v = 0; v < c->assignment.slice_count; v++) {
        uint16_t owner = c->assignment.worker[v];
        if (owner >= c->config.workers) { continue; }
        const struct chief_peer *peer = &c->workers[owner];
        if (!peer->known || (peer->present && !peer->reported)) { input.ready[owner] = true; }
    }
    (void)assign_slices(&c->assignment, &input, &p->w->assignment);
    release_slices(p, &p->w->assignment);
    p->w->assignment.generation = p->run->generation;
    p->w->assigns =
        !assign_equal(&c->assignment, &p->w->assignment) || (c->lost & CHIEF_LOST_ASSIGNMENT) != 0;
    if (p->w->assigns) { plan_need(p, PLAN_HARD); }
}
