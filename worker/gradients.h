/*
 * worker/gradients.h: the gradients that a worker has computed for the current step: one buffer for
 * each node of the slice tree, of which each ps gets the range that belongs to its shard, whole or
 * in parts. Parts that were sent do not change. One of the buffers may be where the ps on this host
 * read it (worker/gradient_array.h).
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef WORKER_GRADIENTS_H
#define WORKER_GRADIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/placement.h"
#include "common/cluster/slices.h"
#include "worker/gradient_array.h"

struct gradients {
    struct buffer_pool *pool;
    const struct placement *shards; /* By ps. */
    uint64_t parameters;
    struct gradient_array shared; /* The owner opens it, or leaves it zeroed. */
    uint32_t shared_node;         /* Its gradient is that of this node; SLICES_MAX: of none. */
    struct buffer *buffers[SLICES_MAX]; /* By node; NULL: not computed. One reference each. */
    struct buffer *last; /* The memory of the last gradients_begin(), or NULL. One reference. */
};

/* `pool` and `shards`, the ranges of the ps, outlive it. */
void gradients_open(struct gradients *gradients, struct buffer_pool *pool,
                    const struct placement *shards, uint64_t parameters);

/* Memory for the gradient of all parameters of node number `node`, in place of the one before. It
 * stays until the next call, also when it is cleared. NULL: out of memory. */
float *gradients_begin(struct gradients *gradients, uint32_t node);

/* The floats [first, end) of the shard of ps `ps`, which are complete, with one reference. NULL:
 * out of memory. */
struct buffer *gradients_part(struct gradients *gradients, uint32_t node, uint32_t ps,
                              uint64_t first, uint64_t end);

/* No node is being computed any longer. */
void gradients_clear(struct gradients *gradients);
/* Release all buffers. A zeroed one is allowed. */
void gradients_close(struct gradients *gradients);

#endif
