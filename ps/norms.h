/*
 * ps/norms.h: the norms that an update needs: the parts of each ps, and their sums.
 *
 * The part of a ps consists of the sums of the maximal nodes of its shard, and those of the
 * variables (at most two) with their own norms of which the shard has only a part
 * (kernels/measurement.h). The nodes follow from the placement, so a frame contains only the sums:
 * doubles, in the order of the nodes. The norms have the same bits for any number of ps.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_NORMS_H
#define PS_NORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/task.h"
#include "kernels/measurement.h"

/* The largest part of a ps. */
enum { NORM_PART_BYTES_MAX = MEASUREMENT_PARTS_MAX * NORM_NODES_MAX * 8 };

struct norms {
    struct buffer_pool *pool;
    uint32_t ps, index; /* The number of ps, and the index of this one. */
    /* This ps's parts of the current step and of the one before, encoded; NULL: not known. */
    struct buffer *present, *previous;
    struct measurement parts[PS_MAX];
};

/* `pool` outlives it. Each of the `ps` ps owns a part of the parameters. */
void norms_init(struct norms *norms, struct buffer_pool *pool, const struct optimizer *optimizer,
                uint32_t ps, uint32_t index);
void norms_close(struct norms *norms);

/* The size of the part of ps `ps` in bytes. */
size_t norms_part_bytes(const struct norms *norms, uint32_t ps);

/* The reason why `bytes` bytes cannot be the part of another ps, number `ps`; NULL: they can. */
const char *norms_fault(const struct norms *norms, uint32_t ps, size_t bytes);
/* Keep a part without a fault. */
void norms_hold(struct norms *norms, uint32_t ps, const void *bytes);

/* Keep this ps's part of the current step. False: out of memory. */
bool norms_measured(struct norms *norms, const struct measurement *part);

/* Set the norms in `optimizer`, once the parts of all ps have arrived. The current step then
 * becomes the previous one. */
void norms_finish(struct norms *norms, struct optimizer *optimizer);

/* Release this ps's parts. */
void norms_forget(struct norms *norms);

#endif
