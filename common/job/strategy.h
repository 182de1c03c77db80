/*
 * common/job/strategy.h: how the work of a job is divided among processes: one row for each
 * strategy, which follows from `strategy.type` and `train.mode`. It has the facts that
 * several roles need. What one role decides by its strategy is a table of pure functions of its
 * own: `struct chief_strategy` (coordinator/chief_strategy.h), `struct ps_strategy`
 * (ps/step_private.h). For chief and ps a group is a worker: strategy.type group has the strategy
 * of ps in sync mode.
 *
 * Threads: the table is constant.
 */
#ifndef COMMON_JOB_STRATEGY_H
#define COMMON_JOB_STRATEGY_H

#include <stdbool.h>

#include "common/job/job.h"

enum strategy_kind { STRATEGY_PS_SYNC, STRATEGY_PS_ASYNC, STRATEGY_MIRROR, STRATEGY_LOCAL };

struct strategy {
    enum strategy_kind kind;
    bool has_ps;        /* The values are on ps; else each worker task has all of them. */
    bool on_cluster;    /* False: one process does all the work, and no node exists. */
    bool exact_steps;   /* The values of a step depend only on the job (A2 to A7). */
    bool slice_updates; /* Each slice is pushed alone, and is an update of its own (A8). */
};

enum {
    MIRROR_WORKERS_MAX = 120, /* Two connections between each pair: TRANSPORT_CONNECTIONS_MAX. */
    GROUP_TASKS_MAX = 64,     /* Members of a group. */
    KEEP_SUMS_MAX = 3,        /* Steps back whose sums a worker without ps keeps. */
};

/* Static storage. */
const struct strategy *strategy_of_kind(enum strategy_kind kind);
const struct strategy *strategy_of_job(const struct job *job);

/* For a job without ps, sets the number of ps to 0, whatever was given. Call it once all keys are
 * set. */
void strategy_settle(struct job *job);
/* The number of worker tasks that act as one worker: 1, or that of a group. */
uint32_t strategy_members(const struct job *job);
/* The member that owns the shard of ps `ps`: each ps has variables of one member. */
uint32_t strategy_member_of_ps(const struct job *job, uint32_t ps);
/* The number of shards of a checkpoint: one for each ps; without ps, one. */
uint32_t strategy_shards(const struct job *job);

#endif
