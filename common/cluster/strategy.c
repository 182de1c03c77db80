#include "common/cluster/strategy.h"

#include <assert.h>

static const struct strategy strategies[] = {
    [STRATEGY_PS_SYNC] = {.kind = STRATEGY_PS_SYNC, .exact_steps = true},
    [STRATEGY_PS_ASYNC] = {.kind = STRATEGY_PS_ASYNC, .slice_updates = true},
};

const struct strategy *strategy_of_kind(enum strategy_kind kind)
{
    assert(kind < sizeof strategies / sizeof strategies[0]);
    return &strategies[kind];
}

const struct strategy *strategy_of_job(const struct job *job)
{
    assert(job->train.mode <= TRAIN_ASYNC);
    return strategy_of_kind(job->train.mode == TRAIN_SYNC ? STRATEGY_PS_SYNC : STRATEGY_PS_ASYNC);
}
