/*
 * checker/best_seen.h: I16: each manifest names the best of the checkpoints up to it, by the
 * evaluations of their steps. Part of the checker.
 *
 * Threads: one owner.
 */
#ifndef CHECKER_BEST_SEEN_H
#define CHECKER_BEST_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/best.h"

enum { BEST_SEEN_MAX = 4096 }; /* Further checkpoints are not checked. */

struct best_seen {
    enum best_metric metric; /* BEST_NONE: nothing is checked. */
    uint32_t commits, evaluations;
    struct {
        uint64_t id, step;
    } commit[BEST_SEEN_MAX]; /* Ascending. */
    struct {
        uint64_t step;
        double value;
    } evaluation[BEST_SEEN_MAX]; /* Ascending. */
    bool unchecked;              /* `named`, of the last commit, was not checked. */
    struct best named;
};

/* `step` was evaluated; an evaluation may be seen many times. */
void best_seen_evaluation(struct best_seen *seen, uint64_t step, double loss, double accuracy);
/* A manifest was committed for the first time. */
void best_seen_commit(struct best_seen *seen, uint64_t id, uint64_t step, const struct best *named);
/* The run continues from a checkpoint; id 0: from the initial values. */
void best_seen_rewind(struct best_seen *seen, uint64_t id, uint64_t step);
/* The whole transaction was seen. The checkpoint that the last manifest should have named in place
 * of the one that it names; UINT64_MAX: it is right. */
uint64_t best_seen_wrong(struct best_seen *seen);

#endif
