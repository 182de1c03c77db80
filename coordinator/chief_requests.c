/* Requests of operators. */
#include <assert.h>

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
    const uint64_t soon = chief_max_step(p->c, run) + chief_lead(p->c);
    run->until = u64_min(run->until, chief_stop_step(run, soon));
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
    case REQUEST_SCALE: plan_scale(p, request->step, request->by); break;
    case REQUEST_DRAIN: break; /* For agents: not in /requests. */
    case REQUEST_KINDS: assert(false);
    }
}
