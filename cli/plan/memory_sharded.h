/*
 * cli/plan/memory_sharded.h: the memory of a host if a job without ps had a ps beside each worker.
 * Each ps then has the optimizer's state of one range, while each worker of a run without ps has
 * all of it. Values, gradients and bits are the same.
 *
 * Threads: any. Nothing blocks.
 */
#ifndef CLI_PLAN_MEMORY_SHARDED_H
#define CLI_PLAN_MEMORY_SHARDED_H

#include "cli/plan/memory_plan.h"

struct sharded_memory {
    uint32_t ps;   /* As many as workers; 0: this job cannot have a ps beside each worker. */
    uint64_t host; /* Bytes of one worker and of the largest ps, which exchange frames over TCP. */
};

/* `job` was checked. With ps, groups, one worker, a range of workers, more workers than ps are
 * possible, or fewer parameters than ps need, `out->ps` is 0. The errors of memory_plan_make(). */
MUST_CHECK enum tn_status memory_sharded_make(const struct job *job,
                                              const struct variable_table *variables,
                                              const struct memory_data *data,
                                              struct sharded_memory *out, struct error *error);

#endif
