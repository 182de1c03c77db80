/*
 * mirror/tensors.h: the gradients and sums of a replica, which mirror/replica.h never sees: own
 * gradients, those that peers have pushed, and the sums of ranges of the current step and of those
 * that are kept. All are buffers with references, so an array that is being sent never changes.
 *
 * Bits: the terms of a sum are added in the order of the tree of slices, element by element (A5),
 * and their losses as well.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef MIRROR_TENSORS_H
#define MIRROR_TENSORS_H

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/cluster/placement.h"
#include "kernels/kernels.h"
#include "mirror/replica.h"
#include "worker/gradients.h"

/* The sum of a range of the vector: float32, and the sum of the losses of the examples. */
struct range_sum {
    struct buffer *body; /* One reference; NULL: not here. */
    double loss;
};

/* The pushed gradients of a range and a step, by their first slice. */
struct range_pushes {
    uint64_t step;
    struct range_sum slots[SLICES_MAX];
};

struct tensors {
    const struct kernels *kernels;
    struct buffer_pool *pool;
    uint32_t ranges, slices;
    struct placement places[RANGES_MAX]; /* Places of the ranges. */
    struct range_pushes (*pushes)[2];    /* [ranges], by the parity of their step. Owned. */
    struct {
        uint64_t step;
        struct range_sum ranges[RANGES_MAX];
    } sums[REPLICA_KEEP_MAX + 1]; /* By step, modulo their number. */
    struct gradients own;         /* By number of the node. */
    double own_losses[SLICES_MAX];
};

/* `kernels` and `pool` outlive it, and the struct must not move. TN_ENOMEM: it need not be
 * closed. */
MUST_CHECK enum tn_status tensors_open(struct tensors *tensors, const struct kernels *kernels,
                                       struct buffer_pool *pool, uint32_t ranges, uint32_t slices,
                                       uint64_t parameters, struct error *error);
void tensors_close(struct tensors *tensors); /* A zeroed one is allowed. */

/* REPLICA_DO_HOLD. Takes a reference of its own, and releases the gradients of smaller nodes. */
void tensors_hold(struct tensors *tensors, uint32_t range, uint64_t step, struct slice_node node,
                  struct buffer *body, double loss);
/* REPLICA_DO_DROP: below `step`, or all with STEP_NONE. */
void tensors_drop(struct tensors *tensors, uint64_t step);

/* REPLICA_DO_REDUCE, of `parts`. Held gradients of the range and step are released; the memory of
 * one may become that of the sum. False: out of memory. */
bool tensors_reduce(struct tensors *tensors, uint32_t range, uint64_t step,
                    const struct replica_part *parts, uint32_t part_count);
/* The addition of REPLICA_DO_FORWARD. `parts` become the fewest nodes, which are held instead and
 * written to out[]. The own gradients do not change. Returns the number of nodes; 0: out of
 * memory. */
MUST_CHECK uint32_t tensors_join(struct tensors *tensors, uint32_t range, uint64_t step,
                                 const struct replica_part *parts, uint32_t part_count,
                                 struct slice_node out[static SLICES_MAX]);
/* The gradient that is held for a node. */
const struct range_sum *tensors_held(const struct tensors *tensors, uint32_t range, uint64_t step,
                                     struct slice_node node);
/* REPLICA_DO_TAKE. Takes a reference of its own. */
void tensors_take(struct tensors *tensors, uint32_t range, uint64_t step, struct buffer *body,
                  double loss);
/* The sum that was made or taken. */
const struct range_sum *tensors_sum(const struct tensors *tensors, uint32_t range, uint64_t step);

/* REPLICA_DO_APPLY is done: release the pushes of `step`, and the sums of steps below
 * `keep_from`. */
void tensors_applied(struct tensors *tensors, uint64_t step, uint64_t keep_from);
/* Another generation: release everything. */
void tensors_clear(struct tensors *tensors);

#endif
