/*
 * coordinator/chief_strategy.h: the decisions of the chief that depend on the strategy of the job:
 * the nodes that must hold the values of a generation, when the run pauses, which workers own
 * slices, the writers of a checkpoint, and when the run stops. Private to the chief_*.c files, as
 * chief_private.h is.
 *
 * The functions are pure: they read the members, and change nothing.
 */
#ifndef COORDINATOR_CHIEF_STRATEGY_H
#define COORDINATOR_CHIEF_STRATEGY_H

#include "common/job/strategy.h"
#include "coordinator/chief.h"

/* A member without which the run cannot continue, because of the values that it held. */
struct chief_loss {
    struct task task;
    const char *cause;
};

struct chief_writer {
    struct task task;
    const struct report *report;
    bool holds; /* The generation, so that the report is about it. */
    bool lost;  /* The holder can no longer save the ordered checkpoint, while others continue
                   training. */
};

/* A holder is a node of the role whose nodes may hold values; these write and load checkpoints. */
struct chief_strategy {
    enum role holder;
    enum recovery_kind recovery; /* The recovery of a run that a lost holder has paused. */
    enum recovery_kind kept;     /* The recovery if the run then continues without a load. */
    /* A lost holder without which the run continues is a recovery of its own (C21). */
    bool survives_losses;
    /* Whether the report of the holder is needed to know if the values of `run` still exist. */
    bool (*is_awaited)(const struct chief *c, const struct run *run, uint32_t holder);
    /* Whether all nodes that must hold `run`'s generation do. */
    bool (*is_held)(const struct chief *c, const struct run *run);
    /* Whether no node holds values of any generation. */
    bool (*is_empty)(const struct chief *c);
    /* Whether the ordered checkpoint cannot be loaded, and by which holder; false: not known. */
    bool (*find_failed_load)(const struct chief *c, const struct run *run, uint32_t *holder);
    /* The first holder that leaves although training cannot continue without its values; false:
     * none. */
    bool (*find_leaving)(const struct chief *c, const struct run *run, uint32_t *holder);
    /* When to pause: the first loss; false: none. */
    bool (*find_loss)(const struct chief *c, const struct run *run, struct chief_loss *loss);
    /* When the run stops: whether all nodes that must hold the values of `step` hold them. */
    bool (*has_reached)(const struct chief *c, const struct run *run, uint64_t step);
    /* The worker that an order for a checkpoint names; 0 if the writers follow from the shards. */
    uint16_t (*choose_writer)(const struct chief *c, const struct run *run);
    /* Whether the worker may get slices, unless it leaves. */
    bool (*may_own)(const struct chief *c, const struct run *run, uint32_t worker);
    /* The node that writes shard `shard` of a checkpoint; false: there are fewer shards. */
    bool (*find_writer)(const struct chief *c, const struct run *run, uint32_t shard,
                        struct chief_writer *writer);
};

/* The strategy of runs without ps: coordinator/chief_mirror.c. */
extern const struct chief_strategy chief_mirror_strategy;

/* The decisions of a strategy that runs on a cluster. Static storage. */
const struct chief_strategy *chief_strategy_of(enum strategy_kind kind);

#endif
