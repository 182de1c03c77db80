#include "common/job/strategy.h"

#include <assert.h>

static const struct strategy strategies[] = {
    [STRATEGY_PS_SYNC] = {.kind = STRATEGY_PS_SYNC,
                          .has_ps = true,
                          .on_cluster = true,
                          .exact_steps = true},
    [STRATEGY_PS_ASYNC] = {.kind = STRATEGY_PS_ASYNC,
                           .has_ps = true,
                           .on_cluster = true,
                           .slice_updates = true},
    [STRATEGY_MIRROR] = {.kind = STRATEGY_MIRROR, .on_cluster = true, .exact_steps = true},
    [STRATEGY_LOCAL] = {.kind = STRATEGY_LOCAL, .exact_steps = true},
};

const struct strategy *strategy_of_kind(enum strategy_kind kind)
{
    assert(kind <= STRATEGY_LOCAL);
    return &strategies[kind];
}

const struct strategy *strategy_of_job(const struct job *job)
{
    assert(job->strategy.type <= STRATEGY_TYPE_GROUP);
    if (job->strategy.type == STRATEGY_TYPE_MIRROR) { return strategy_of_kind(STRATEGY_MIRROR); }
    if (job->strategy.type == STRATEGY_TYPE_LOCAL) { return strategy_of_kind(STRATEGY_LOCAL); }
    const bool is_group = job->strategy.type == STRATEGY_TYPE_GROUP;
    if (is_group && job->cluster.ps == 0) { return strategy_of_kind(STRATEGY_MIRROR); }
    return strategy_of_kind(job->train.mode == TRAIN_SYNC ? STRATEGY_PS_SYNC : STRATEGY_PS_ASYNC);
}

void strategy_settle(struct job *job)
{
    const struct strategy *strategy = strategy_of_job(job);
    if (strategy->on_cluster && !strategy->has_ps) { job->cluster.ps = 0; }
}

uint32_t strategy_shards(const struct job *job)
{
    return job->cluster.ps > 0 ? job->cluster.ps : 1;
}

uint32_t strategy_members(const struct job *job)
{
    return job->strategy.type == STRATEGY_TYPE_GROUP ? job->strategy.members : 1;
}

uint32_t strategy_member_of_ps(const struct job *job, uint32_t ps)
{
    assert(ps < job->cluster.ps);
    return ps % strategy_members(job);
}
