#include "cli/plan/memory_sharded.h"

#include <stdlib.h>

#include "common/base/minmax.h"
#include "common/cluster/placement.h"

static bool is_possible(const struct job *job, const struct variable_table *variables)
{
    const uint64_t most = u64_min(PS_MAX, placement_ps_max(variables->parameter_count));
    const uint32_t workers = job->cluster.workers;
    if (job->strategy.type != STRATEGY_TYPE_MIRROR || job->cluster.workers_least != 0) {
        return false;
    }
    return workers > 1 && workers <= most;
}

enum tn_status memory_sharded_make(const struct job *job, const struct variable_table *variables,
                                   const struct memory_data *data, struct sharded_memory *out,
                                   struct error *error)
{
    *out = (struct sharded_memory){.ps = 0};
    if (!is_possible(job, variables)) { return TN_OK; }
    struct memory_plan *plan = malloc(sizeof *plan);
    if (plan == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    struct job with_ps = *job;
    with_ps.strategy.type = STRATEGY_TYPE_PS;
    with_ps.cluster.ps = job->cluster.workers;
    with_ps.transport.lane = LANE_TCP; /* Most values come from the ps of other hosts. */
    const enum tn_status status = memory_plan_make(&with_ps, variables, data, plan, error);
    if (status == TN_OK) {
        *out = (struct sharded_memory){.ps = with_ps.cluster.ps,
                                       .host = memory_of_worker(&plan->worker) +
                                               memory_of_largest_ps(plan)};
    }
    free(plan);
    return status;
}
