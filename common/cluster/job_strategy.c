#include "common/cluster/job_strategy.h"

#include <stdbool.h>
#include <stddef.h>

#include "common/cluster/strategy.h"

/* Keys that a strategy without ps does not support yet. */
static enum tn_status check_mirror(const struct job *job, struct error *error)
{
    const struct {
        bool is_refused;
        const char *key, *value, *remedy;
    } rules[] = {
        {job->train.mode == TRAIN_ASYNC, "train.mode", "async", "train.mode=sync"},
        {job->cluster.ps != 0, "cluster.ps", "not 0", "cluster.ps=0"},
        {job->cluster.workers > MIRROR_WORKERS_MAX, "cluster.workers", "more than 120",
         "cluster.workers=120"},
        {job->cluster.evaluators > 0, "cluster.evaluators", "1", "cluster.evaluators=0"},
        {job->checkpoint.best != BEST_NONE, "checkpoint.best", "a metric", "checkpoint.best=none"},
        {job->on_chief_failure == CHIEF_FAILURE_RESTORE, "on_chief_failure", "restore",
         "on_chief_failure=continue"},
        {job->transport.lane == LANE_SHM, "transport.lane", "shm", "transport.lane=auto"},
        {job->placement.strategy != PLACEMENT_RANGES, "placement.strategy", "not ranges",
         "placement.strategy=ranges"},
        {job->placement.rule_count > 0, "placement.variables", "a list", "strategy.type=ps"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (!rules[i].is_refused) { continue; }
        return error_set(error, TN_EINVAL,
                         "%s is %s, which strategy.type mirror does not support: give --set %s",
                         rules[i].key, rules[i].value, rules[i].remedy);
    }
    return TN_OK;
}

enum tn_status job_check_strategy(const struct job *job, struct error *error)
{
    if (job->strategy.type == STRATEGY_TYPE_MIRROR) { return check_mirror(job, error); }
    if (job->cluster.ps == 0) {
        return error_set(error, TN_EINVAL,
                         "cluster.ps is 0, but the parameters need a ps: give at least 1, or "
                         "--set strategy.type=mirror");
    }
    if (job->strategy.type != STRATEGY_TYPE_LOCAL || job->train.mode != TRAIN_ASYNC) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "train.mode is async, but strategy.type is local (--local), which has no "
                     "workers that could be ahead of one another: give --set train.mode=sync, "
                     "or --set strategy.type=ps without --local");
}
