/*
 * The rule C18: the evaluator. It is ordered to evaluate the newest committed checkpoint, and the
 * next one when it has done with that. Nothing waits for it:
 *
 *   no order --a checkpoint is newer than the last one evaluated-->  ordered
 *   ordered  --the evaluator reports on it-->                        no order; the result counts
 *   ordered  --the evaluator is absent, and there is a newer one-->  ordered: the newer one
 *   ordered  --a new generation starts from an older checkpoint-->   no order
 *
 * The order and the last checkpoint that was evaluated are in /run, so that each result counts
 * once, also over elections. The checkpoint that is ordered is not deleted.
 */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

void plan_evaluator_committed(struct plan *p)
{
    assert(p->run->save_checkpoint != 0);
    p->run->unevaluated += p->c->config.evaluators;
}

void plan_evaluator_rewound(struct plan *p, uint64_t checkpoint)
{
    struct run *run = p->run;
    if (run->evaluate_checkpoint <= checkpoint) { return; }
    run->evaluate_checkpoint = run->evaluate_checkpoint_step = 0;
}

/* C8, but without gates: the last step depends on when the result is known. */
static void stop_early(struct plan *p)
{
    struct run *run = p->run;
    const double target = p->c->config.target_accuracy;
    const bool reached = target > 0 && run->evaluation.accuracy >= target;
    if (!reached && !early_stop_is_due(&p->c->config.early_stop, run)) { return; }
    plan_end_soon(p);
    plan_need(p, PLAN_HARD);
}

static void count_result(struct plan *p, uint64_t checkpoint, const struct evaluation *found)
{
    struct run *run = p->run;
    struct history_entry *entry = plan_entry(p, HISTORY_EVALUATED);
    run->evaluation = *found;
    early_stop_note(&p->c->config.early_stop, run);
    plan_best_of_checkpoint(p, checkpoint);
    entry->task = (struct task){.role = ROLE_EVALUATOR};
    entry->checkpoint = checkpoint;
    entry->step = found->step;
    entry->loss = found->loss;
    entry->accuracy = found->accuracy;
    entry->metrics = found->metrics;
    if (run->passed_over > 0) {
        struct text text = text_begin(entry->cause, sizeof entry->cause);
        text_add_number(&text, run->passed_over);
        text_add(&text, run->passed_over == 1 ? " checkpoint" : " checkpoints");
        text_add(&text, " before it skipped");
    }
    run->passed_over = 0;
    stop_early(p);
}

static bool is_active(const struct plan *p)
{
    const bool trains = p->run->phase == RUN_RUNNING || p->run->phase == RUN_STOPPING;
    return trains && p->c->config.evaluators > 0;
}

/* The evaluator's report may answer the order. */
void plan_evaluator_result(struct plan *p)
{
    struct run *run = p->run;
    const struct chief_peer *peer = &p->c->evaluator;
    const struct evaluation *found = &peer->report.evaluation;
    const uint64_t id = run->evaluate_checkpoint, step = run->evaluate_checkpoint_step;
    if (!is_active(p) || id == 0 || !peer->present || !peer->reported) { return; }
    if (peer->report.evaluated_checkpoint != id) { return; }
    run->evaluated_checkpoint = id;
    run->evaluate_checkpoint = run->evaluate_checkpoint_step = 0;
    plan_need(p, PLAN_SOFT);
    /* It cannot read the checkpoint, as its log and `tanist status` show. */
    if (found->step != step) {
        run->passed_over++;
        return;
    }
    /* The workers may have evaluated the last step meanwhile. */
    const bool newer = run->evaluation.step == STEP_NONE || run->evaluation.step < step;
    if (newer) { count_result(p, id, found); }
}

void plan_evaluator_order(struct plan *p)
{
    struct run *run = p->run;
    const uint64_t newest = run->committed_checkpoint, ordered = run->evaluate_checkpoint;
    assert(p->run == &p->w->run);
    if (!is_active(p) || newest <= u64_max(ordered, run->evaluated_checkpoint)) { return; }
    if (ordered != 0 && p->c->evaluator.present) { return; }
    run->passed_over += (run->unevaluated > 0 ? run->unevaluated - 1 : 0) + (ordered != 0);
    run->unevaluated = 0;
    run->evaluate_checkpoint = newest;
    run->evaluate_checkpoint_step = run->committed_step;
    plan_need(p, PLAN_SOFT);
}
