/*
 * checker/drained.h: I15: a drained ps leaves when training has stopped at a committed checkpoint,
 * and the next load starts exactly there. Plain data.
 *
 * Threads: one owner.
 */
#ifndef CHECKER_DRAINED_H
#define CHECKER_DRAINED_H

#include "common/cluster/run.h"

struct drained {
    uint64_t generation, step; /* Where training stopped for a drain; 0: it did not. */
};

/* /run changes, when the nodes have reached step `reached` of the generation. NULL: as it must;
 * else what is wrong, about *step. Static storage. */
const char *drained_follow(struct drained *drained, const struct run *was, const struct run *run,
                           uint64_t reached, uint64_t *step);

#endif
