/*
 * The rule C17: the best checkpoint. A checkpoint's value is the evaluation of its step, which is
 * known before it is committed (C6) and may be known before it is ordered; that of an evaluator is
 * known later, or never.
 */
#include <assert.h>
#include <string.h>

#include "coordinator/chief_private.h"

static void remember(struct run *run, struct evaluated evaluated)
{
    assert(run->evaluated_count <= RUN_EVALUATED_MAX);
    uint32_t count = run->evaluated_count;
    if (count == RUN_EVALUATED_MAX) {
        count--;
        memmove(run->evaluated, run->evaluated + 1, count * sizeof run->evaluated[0]);
    }
    run->evaluated[count++] = evaluated;
    run->evaluated_count = count;
}

void plan_best_evaluated(struct plan *p)
{
    struct run *run = p->run;
    const enum best_metric metric = p->c->config.best;
    const struct evaluation *found = &run->evaluation;
    if (metric == BEST_NONE) { return; }
    const struct evaluated evaluated = {found->step,
                                        best_value(metric, found->loss, found->accuracy)};
    if (run->save_checkpoint != 0 && found->step == run->save_step) {
        run->saved_value = evaluated;
    } else {
        remember(run, evaluated);
    }
}

void plan_best_ordered(struct plan *p)
{
    struct run *run = p->run;
    assert(run->save_checkpoint != 0);
    run->saved_value = (struct evaluated){0};
    for (uint32_t i = 0; i < run->evaluated_count; i++) {
        if (run->evaluated[i].step == run->save_step) { run->saved_value = run->evaluated[i]; }
    }
}

void plan_best_dropped(struct plan *p)
{
    struct run *run = p->run;
    const struct evaluated value = run->saved_value;
    if (run->save_checkpoint != 0 && value.step == run->save_step) { remember(run, value); }
}

void plan_best_committed(struct plan *p)
{
    struct run *run = p->run;
    const enum best_metric metric = p->c->config.best;
    assert(run->save_checkpoint != 0);
    if (run->saved_value.step == 0 || run->saved_value.step != run->save_step) { return; }
    if (!best_improves(&run->best_checkpoint, metric, run->saved_value.value)) { return; }
    run->best_checkpoint = (struct best){
        .checkpoint = run->save_checkpoint,
        .step = run->save_step,
        .metric = metric,
        .value = run->saved_value.value,
    };
}

static bool exists(const struct chief *c, uint64_t checkpoint)
{
    assert(c->checkpoint_count <= CHIEF_CHECKPOINTS_MAX);
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        if (c->checkpoints[i].id == checkpoint) { return true; }
    }
    return false;
}

/* It was committed before; but another program may have deleted it. */
void plan_best_of_checkpoint(struct plan *p, uint64_t checkpoint)
{
    const struct chief *c = p->c;
    struct run *run = p->run;
    const enum best_metric metric = c->config.best;
    const struct evaluation *found = &run->evaluation;
    const double value = best_value(metric, found->loss, found->accuracy);
    assert(checkpoint != 0);
    if (!exists(c, checkpoint) || run_is_unloadable(run, checkpoint)) { return; }
    if (!best_improves(&run->best_checkpoint, metric, value)) { return; }
    run->best_checkpoint = (struct best){
        .checkpoint = checkpoint,
        .step = found->step,
        .metric = metric,
        .value = value,
    };
}

/* The best checkpoint when `checkpoint` was committed, as its manifest names it. */
static struct best best_as_of(const struct plan *p, uint64_t checkpoint)
{
    const struct chief *c = p->c;
    assert(c->checkpoint_count <= CHIEF_CHECKPOINTS_MAX);
    struct best found = {0};
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        if (c->checkpoints[i].id == checkpoint) { found = c->checkpoints[i].best; }
    }
    for (uint32_t i = 0; i < chief_holder_count(c) && found.checkpoint == 0; i++) {
        const struct report *report = &chief_holder(c, i)->report;
        if (chief_holder_reported(c, i) && report->disk_checkpoint == checkpoint) {
            found = report->disk_best;
        }
    }
    /* A result of the evaluator came after the commit; the checkpoint may be deleted since. */
    if (c->config.evaluators > 0 && !exists(c, found.checkpoint)) { found = (struct best){0}; }
    return best_of_metric(&found, c->config.best);
}

void plan_best_rewound(struct plan *p, uint64_t checkpoint)
{
    struct best *best = &p->run->best_checkpoint;
    p->run->saved_value = (struct evaluated){0};
    p->run->evaluated_count = 0;
    if (checkpoint != 0 && best->checkpoint != 0 && best->checkpoint <= checkpoint) { return; }
    *best =
        checkpoint != 0 ? best_as_of(p, checkpoint) : (struct best){.metric = p->c->config.best};
}

/* The values are of the metric of a former start. */
void chief_best_adopt(struct chief *c)
{
    struct run *run = &c->run;
    if (run->best_checkpoint.metric == c->config.best) { return; }
    run->best_checkpoint = (struct best){.metric = c->config.best};
    run->saved_value = (struct evaluated){0};
    run->evaluated_count = 0;
}

bool chief_best_keeps(const struct chief *c, uint64_t checkpoint)
{
    uint32_t newest = c->config.checkpoint_keep;
    if (c->run.best_checkpoint.checkpoint == checkpoint) { return true; }
    for (uint32_t i = c->checkpoint_count; i-- > 0 && newest > 0;) {
        if (run_is_unloadable(&c->run, c->checkpoints[i].id)) { continue; }
        if (c->checkpoints[i].best.checkpoint == checkpoint) { return true; }
        newest--;
    }
    return false;
}

/* The newest checkpoint that shares no file of table rows with the newest one; 0: none. Those that
 * `run` lists as unloadable do not count; NULL: all count. */
static uint64_t former_chain(const struct chief *c, const struct run *run)
{
    uint64_t newest = 0;
    for (uint32_t i = c->checkpoint_count; i-- > 0 && c->config.has_rows;) {
        const uint64_t id = c->checkpoints[i].id;
        if (run != NULL && run_is_unloadable(run, id)) { continue; }
        if (newest == 0) { newest = id; }
        if (id < manifest_chain_begin(newest)) { return id; }
    }
    return 0;
}

bool chief_chain_keeps(const struct chief *c, uint64_t checkpoint)
{
    assert(checkpoint != 0);
    return checkpoint == former_chain(c, &c->run);
}

bool chief_committed_chain_keeps(const struct chief *c, uint64_t checkpoint)
{
    assert(checkpoint != 0);
    return checkpoint == former_chain(c, NULL);
}
