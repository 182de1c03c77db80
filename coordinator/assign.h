/*
 * coordinator/assign.h: which worker owns which slices of each step's batch. Pure. The assignment
 * affects only the speed of training, not its results.
 *
 * The cost model. A worker computes its slices one after another and pushes one sum for each
 * maximal node of the tree (common/cluster/slices.h) that it owns. Each ps takes in the pushes of
 * all workers one after another, and no worker continues before the last one has finished. So a
 * step takes
 *
 *     max over workers (slices * slice_ns) + pushes of all workers * push_ns
 *
 * The first term is smallest with equal times, the second one few, large nodes: 64 slices over
 * three workers are 22, 22 and 20 slices in 8 pushes, or 24, 24 and 16 in 5, or 32, 16 and 16 in 3;
 * contiguous parts of 22, 21 and 21 would be 11 pushes. Which one is the fastest depends on the
 * ratio of the two times: small slices of a large model are pushed, large ones of a small model are
 * computed.
 *
 * A slice that moves is computed once more at most, which counts as a part of
 * ASSIGN_HORIZON_STEPS steps: so slices move no further than is worth it.
 */
#ifndef COORDINATOR_ASSIGN_H
#define COORDINATOR_ASSIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/znodes.h"

enum {
    ASSIGN_HORIZON_STEPS = 64,
    ASSIGN_PUSH_NS = 20000,      /* A push without the bytes: system calls, bookkeeping. */
    ASSIGN_PUSHES_PER_SLICE = 4, /* While no time is known, a push costs a quarter of a slice. */
    ASSIGN_GAIN = 8, /* Slices move only for speed if this shortens a step by at least an eighth. */
};

struct assign_input {
    uint32_t slices;
    bool ready[WORKERS_MAX];
    uint64_t slice_ns[WORKERS_MAX]; /* To compute a slice; 0: unknown, taken to be the mean. */
    uint64_t push_ns;               /* 0: the number of pushes does not depend on the owners. */
    bool balances;                  /* Slices may move for speed alone. */
};

/*
 * Assign the slices to the workers that are ready. If no worker is ready, nothing changes. Slices
 * move if their owner is not ready, if a ready worker owns none although there are enough, or only
 * for speed. Each ready worker owns at least one slice, so that its speed stays known; if there are
 * more workers than slices, the fastest ones own one each. True: slices moved only for speed.
 */
bool assign_slices(const struct assignment *before, const struct assign_input *input,
                   struct assignment *out);

/* The number of nodes that the workers push in a step. */
uint32_t assign_pushes(const struct assignment *assignment);

/* Whether the worker owns a slice. */
bool assign_has(const struct assignment *assignment, uint32_t worker);

/* Whether both have the same generation, the same owner of each slice, and the same late
 * workers. */
bool assign_equal(const struct assignment *a, const struct assignment *b);

#endif
