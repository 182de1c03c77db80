#include "common/job/early_stop.h"

#include <assert.h>
#include <math.h>

struct early_stop early_stop_of_job(const struct job *job)
{
    assert(job != NULL);
    return (struct early_stop){.by_accuracy = job->train.stop_metric == METRIC_ACCURACY,
                               .patience = job->train.stop_patience,
                               .evaluate_every = job_evaluate_every(job)};
}

/* A value that is not finite is never the best one: /run cannot have such a number. */
void early_stop_note_value(const struct early_stop *stop, struct run *run, uint64_t step,
                           double loss, double accuracy)
{
    const enum best_metric metric = stop->by_accuracy ? BEST_ACCURACY : BEST_LOSS;
    const double value = best_value(metric, loss, accuracy);
    const bool better = run->best_step == 0 || best_is_better(metric, value, run->best);
    assert(step != STEP_NONE);
    run->since_best++;
    if (!isfinite(value) || !better) { return; }
    run->best_step = step;
    run->best = value;
    run->since_best = 0;
}

void early_stop_note(const struct early_stop *stop, struct run *run)
{
    const struct evaluation *found = &run->evaluation;
    early_stop_note_value(stop, run, found->step, found->loss, found->accuracy);
}

bool early_stop_is_due(const struct early_stop *stop, const struct run *run)
{
    const uint64_t step = run->evaluation.step;
    if (stop->patience == 0 || step == STEP_NONE) { return false; }
    if (stop->evaluate_every == 0) { return run->since_best >= stop->patience; }
    return step > run->best_step &&
           (step - run->best_step) / stop->evaluate_every >= stop->patience;
}

void early_stop_rewind(struct run *run, uint64_t step)
{
    if (run->best_step <= step) { return; }
    run->best_step = run->since_best = 0;
    run->best = 0;
}
