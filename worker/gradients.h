/*
 * worker/gradients.h: the gradients that a worker has computed for the present step: for each node
 * of the slice tree one buffer for each ps, with the part of the sum that belongs to its shard. The
 * buffers do not change while they are being sent.
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

struct gradients {
    struct buffer_pool *pool;
    const struct placement *shards; /* [ps_count] */
    uint32_t ps_count;
    struct buffer **buffers; /* [SLICES_MAX][ps_count]; NULL: not computed. Owned. */
};

/* `pool` and `shards`, the ranges of `ps_count` ps, outlive it. False: out of memory. */
bool gradients_open(struct gradients *gradients, struct buffer_pool *pool,
                    const struct placement *shards, uint32_t ps_count);
/* A zeroed one is allowed. */
void gradients_close(struct gradients *gradients);

/* Copy `sum`, the gradient of all parameters, as that of node number `node`. False: out of memory.
 */
bool gradients_put(struct gradients *gradients, uint32_t node, const float *sum);

/* The part for ps `ps`, which gradients_put() stored. The reference stays with the gradients. */
struct buffer *gradients_get(const struct gradients *gradients, uint32_t node, uint32_t ps);

/* Release all buffers. */
void gradients_clear(struct gradients *gradients);

#endif
