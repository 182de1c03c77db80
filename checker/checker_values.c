/* The values that the ps send: I3, I6, I7. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "checker/checker_private.h"
#include "common/job/strategy.h"

/* ------------------------------------------------------------- staleness */

void checker_on_push(struct checker *checker, uint64_t generation, uint64_t step, uint32_t shard,
                     uint32_t slice)
{
    assert(shard < PS_MAX);
    if (generation != checker->pushed_generation || slice >= SLICES_MAX) { return; }
    if (step >= checker->pushed[shard][slice]) { checker->pushed[shard][slice] = step + 1; }
}

/* I7: a ps does not send values of `step` while a slice is further behind than the bound. */
static void check_staleness(struct checker *checker, uint64_t generation, uint64_t step,
                            uint32_t shard)
{
    uint64_t bound = checker->config.job->train.max_staleness;
    assert(shard < PS_MAX);
    if (generation != checker->pushed_generation || bound == STALENESS_FREE) { return; }
    for (uint32_t v = 0; v < checker->config.job->train.slices; v++) {
        if (step <= checker->pushed[shard][v] + bound) { continue; }
        checker_fail(checker,
                     "I7: ps:%u sent values of step %" PRIu64 " while slice %u is at %" PRIu64
                     ", bound %" PRIu64,
                     shard, step, v, checker->pushed[shard][v], bound);
    }
}

/* ---------------------------------------------------------------- values */

void checker_on_step(struct checker *checker, uint64_t generation, uint64_t step, uint32_t worker,
                     uint64_t incarnation)
{
    assert(step != STEP_NONE);
    if (generation != checker->run.generation) { return; }
    reached_by_worker(&checker->reached, worker, incarnation, step);
}

void checker_on_values(struct checker *checker, uint64_t generation, uint64_t step, uint32_t shard,
                       uint32_t shards, const float *values, size_t count)
{
    assert(shard < shards && values != NULL);
    if (step > checker->config.job->train.steps) {
        checker_fail(checker, "I6: values of step %" PRIu64 " of %" PRIu64, step,
                     checker->config.job->train.steps);
        return;
    }
    /* After a wipe, training continues in a generation that /run does not hold. */
    if (generation > checker->run.generation && generation > checker->generation_before_wipe) {
        checker_fail(checker, "I3: values of generation %" PRIu64 " when %" PRIu64 " is ordered",
                     generation, checker->run.generation);
    }
    if (generation == checker->run.generation) { reached_by_ps(&checker->reached, step); }
    if (!strategy_of_job(checker->config.job)->exact_steps) {
        check_staleness(checker, generation, step, shard);
    }
    if (!checker->config.exact_steps) { return; }
    const struct placement range = variable_table_shard(checker->config.variables, shards, shard);
    const float *want = checker->config.view.values(checker->config.view.ctx, step) + range.first;
    checker->values_checked++;
    if (count != range.count || memcmp(want, values, count * sizeof *want) != 0) {
        checker_fail(checker,
                     "I6: ps:%u sent wrong values of step %" PRIu64 ", generation %" PRIu64, shard,
                     step, generation);
    }
}
