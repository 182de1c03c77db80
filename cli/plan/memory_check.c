#include "cli/plan/memory_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/plan/memory_plan_tables.h"
#include "common/base/cgroup.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/job/strategy.h"

uint64_t memory_of_machine(void)
{
    struct cgroup_limits limits;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    cgroup_limits_read(&limits);
    if (limits.memory_bytes == 0) { return bytes; }
    return bytes == 0 ? limits.memory_bytes : u64_min(bytes, limits.memory_bytes);
}

static double gib(uint64_t bytes)
{
    return (double)bytes / (1 << 30);
}

/* The plan with what the job needs at least: the parameters, with the fewest workers, and rows of
 * the keys that were read. Programs may be on a GPU, workers of a process share the data, and
 * slices that are computed in one run need one gradient. */
static void plan_least(const struct job *job, const struct variable_table *variables,
                       const struct memory_data *data, struct memory_plan *out)
{
    struct job fewest = *job;
    fewest.cluster.workers = job_workers_least(job);
    memory_plan_parameters(&fewest, variables, out);
    if (out->members == 1) {
        const uint64_t one = variables->parameter_count * sizeof(float);
        out->member[0].gradients = u64_min(out->member[0].gradients, one);
    }
    if (data != NULL && data->known) {
        struct memory_data certain = *data;
        certain.certain = true;
        certain.bytes = 0;
        memory_plan_add_data(&fewest, variables, &certain, out);
    }
    memory_plan_find_largest(out);
}

/* The smallest number of ps with which all tasks fit, or, `apart`, each of them alone. 0: none. */
static uint32_t least_ps(const struct job *job, const struct variable_table *variables,
                         const struct memory_data *data, uint64_t available, bool apart)
{
    struct variable_table any = *variables;
    struct job other = *job;
    any.shard_count = 0; /* Ranges, which are the most even. */
    other.placement.rows = (struct row_borders){.count = 0};
    if (apart) { other.transport.lane = LANE_TCP; }
    for (uint32_t count = strategy_members(job); count <= PS_MAX; count++) {
        struct memory_plan found;
        other.cluster.ps = count;
        if (variable_table_check_ps(&any, count, NULL) != TN_OK) { return 0; }
        plan_least(&other, &any, data, &found);
        uint64_t needed = memory_of_all(&found);
        if (apart) {
            needed = u64_max(memory_of_largest_ps(&found), memory_of_worker(&found.worker));
        }
        if (needed <= available) { return count; }
    }
    return 0;
}

enum tn_status memory_plan_check(const struct job *job, const struct variable_table *variables,
                                 const struct memory_data *data, uint64_t available,
                                 struct error *error)
{
    char remedy[256] = "no number of ps fits, not even on hosts of their own: make the model "
                       "smaller";
    struct memory_plan least;
    plan_least(job, variables, data, &least);
    if (available == 0 || memory_of_all(&least) <= available) { return TN_OK; }
    const bool has_ps = least.ps_count > 0;
    const uint32_t here = has_ps ? least_ps(job, variables, data, available, false) : 0;
    const uint32_t apart = has_ps ? least_ps(job, variables, data, available, true) : 0;
    if (!has_ps) {
        (void)snprintf(remedy, sizeof remedy,
                       "lower cluster.workers, or give strategy.type=ps, whose workers hold no "
                       "optimizer state");
    } else if (here > 0) {
        (void)snprintf(remedy, sizeof remedy,
                       "the smallest number that fits is cluster.ps=%" PRIu32, here);
    } else if (apart > 0) {
        (void)snprintf(remedy, sizeof remedy,
                       "no number of ps fits here; with hosts like this one for each task "
                       "(`tanist agent`), cluster.ps=%" PRIu32 " is the smallest that fits",
                       apart);
    }
    return error_set(error, TN_EINVAL,
                     "the job needs at least %.1f GiB of memory (%" PRIu32
                     " ps of up to %.1f GiB, %" PRIu32
                     " workers of up to %.1f GiB), but this machine has %.1f GiB: %s; see "
                     "`tanist plan`",
                     gib(memory_of_all(&least)), least.ps_count, gib(memory_of_largest_ps(&least)),
                     least.workers, gib(memory_of_worker(&least.worker)), gib(available), remedy);
}

void memory_plan_warn(const struct memory_plan *plan, uint64_t available)
{
    if (available == 0 || memory_of_all(plan) <= available) { return; }
    log_warn("the job is predicted to need %.1f GiB of memory, but this machine has %.1f GiB; see "
             "`tanist plan`",
             gib(memory_of_all(plan)), gib(available));
}
