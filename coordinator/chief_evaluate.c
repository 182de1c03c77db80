/* Orders for evaluations, and their results: C7, C8. */
#include <assert.h>

#include "coordinator/chief_private.h"

/* C8: whether nodes stop at each evaluation until its result is known. */
static bool has_gates(const struct chief *c)
{
    const bool decides = c->config.target_accuracy > 0 || c->config.early_stop.patience > 0;
    return decides && c->config.evaluate_every > 0;
}

uint64_t plan_boundary(const struct chief *c, uint64_t step)
{
    assert(c->config.steps > 0);
    uint64_t last = u64_max(c->config.steps, step);
    return has_gates(c) ? u64_min(chief_multiple_after(step, c->config.evaluate_every), last)
                        : last;
}

void plan_next_evaluation(struct plan *p)
{
    assert(p->run == &p->w->run);
    struct run *run = p->run;
    bool known = run->evaluation.step != STEP_NONE;
    uint64_t every = p->c->config.evaluate_every, next = STEP_NONE;
    /* All evaluations up to a checkpoint are known before it is committed. */
    uint64_t passed = u64_max(run->load_step, known ? run->evaluation.step : 0);
    if (every > 0) { next = chief_multiple_after(passed, every); }
    bool last_known = known && run->evaluation.step >= run->until;
    run->evaluate_step = last_known ? STEP_NONE : u64_min(next, run->until);
}

/* The result that answers the order, or NULL. */
static const struct evaluation *reported_evaluation(const struct plan *p)
{
    assert(p->run->evaluate_step != STEP_NONE);
    for (uint32_t i = 0; i < p->c->config.workers; i++) {
        const struct chief_peer *peer = &p->c->workers[i];
        const struct evaluation *found = &peer->report.evaluation;
        if (!peer->present || !peer->reported) { continue; }
        if (peer->report.generation != p->run->generation || found->step == STEP_NONE) { continue; }
        if (found->step == p->run->evaluate_step) { return found; }
    }
    return NULL;
}

void plan_evaluation(struct plan *p)
{
    struct run *run = p->run;
    if (run->phase != RUN_RUNNING && run->phase != RUN_STOPPING) { return; }
    const struct evaluation *found =
        run->evaluate_step != STEP_NONE ? reported_evaluation(p) : NULL;
    if (found == NULL) { return; }
    run->evaluation = *found;
    early_stop_note(&p->c->config.early_stop, run);
    plan_best_evaluated(p);
    struct history_entry *entry = plan_entry(p, HISTORY_EVALUATED);
    entry->step = found->step;
    entry->loss = found->loss;
    entry->accuracy = found->accuracy;
    entry->metrics = found->metrics;
    bool waited_for = found->step == run->until;
    if (waited_for && has_gates(p->c) && !run->ending) {
        const double target = p->c->config.target_accuracy;
        run->ending = (target > 0 && found->accuracy >= target) ||
                      early_stop_is_due(&p->c->config.early_stop, run);
        if (!run->ending) {
            run->until = plan_boundary(p->c, run->until);
            run->ending = run->until >= p->c->config.steps;
        }
    }
    plan_next_evaluation(p);
    plan_need(p, PLAN_HARD); /* Training may wait for it. */
}
