/*
 * coordinator/chief_strategy.h: what the chief decides by the strategy of the job: who must hold
 * the values of a generation, when the run pauses, which workers own slices, who writes a
 * checkpoint, and when the run stops. Private to the chief_*.c files, as chief_private.h is.
 *
 * The functions are pure: they read the members, and change nothing.
 */
#ifndef COORDINATOR_CHIEF_STRATEGY_H
#define COORDINATOR_CHIEF_STRATEGY_H

#include "common/cluster/strategy.h"
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
};

struct chief_strategy {
    /* Who holds values. All who may have reported, so that the rest is known: */
    bool (*has_reported)(const struct chief *c);
    /* All who must hold `run`'s generation do. */
    bool (*is_held)(const struct chief *c, const struct run *run);
    /* Nobody holds values of any generation. */
    bool (*is_empty)(const struct chief *c);
    /* The highest step that was reported in `run`'s generation; 0: none. */
    uint64_t (*highest_step)(const struct chief *c, const struct run *run);
    /* When to pause: the first loss; false: none. */
    bool (*find_loss)(const struct chief *c, const struct run *run, struct chief_loss *loss);
    /* When to stop: whether the values of `step` are held by all who must hold them. */
    bool (*has_reached)(const struct chief *c, const struct run *run, uint64_t step);
    /* What is assigned: whether the worker may get slices. */
    bool (*may_own)(const struct chief *c, const struct run *run, uint32_t worker);
    /* Who writes shard `shard` of a checkpoint; false: there are fewer shards. */
    bool (*find_writer)(const struct chief *c, const struct run *run, uint32_t shard,
                        struct chief_writer *writer);
};

/* Of a strategy that runs on a cluster. Static storage. */
const struct chief_strategy *chief_strategy_of(enum strategy_kind kind);

#endif
