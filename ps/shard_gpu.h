/*
 * ps/shard_gpu.h: the arrays of a shard in the memory of a GPU, and their update there, with the
 * bits of the CPU's: sums in the order of the tree (A5), exact optimizers (kernels/cuda/update.c).
 *
 * An update takes the shard in pieces. For each one, the pushed sums are copied to pinned memory
 * and from there to the GPU, added, and applied to the values and the state, which change in place;
 * the new values are copied back through pinned memory. There are two sets of pieces, so that one
 * is copied while the other is computed.
 *
 * Errors name the GPU. TN_EDEVICE: it failed, or its memory does not suffice. Nothing that was
 * computed can be used after that, nor can the GPU by this process.
 *
 * Threads: the owner's. Functions block until the GPU is done, as the CPU's kernels do.
 */
#ifndef PS_SHARD_GPU_H
#define PS_SHARD_GPU_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/slices.h"
#include "kernels/cuda/library.h"
#include "kernels/optimizer.h"

enum { SHARD_GPU_PIECE = 1 << 20 /* Floats. */ };

/* An open GPU. */
struct shard_gpu_place {
    const struct cuda_library *library; /* NULL: none, the CPU. Outlives the shard. */
    uint32_t number;
    uint32_t piece; /* Floats, a multiple of 1024: SHARD_GPU_PIECE, or fewer in tests. */
};

struct shard_gpu_config {
    struct shard_gpu_place place;
    uint64_t count;          /* The floats of an array. */
    uint32_t arrays, slices; /* The number of the optimizer's arrays; V. */
};

/* The memory of the GPU that a shard needs, and the memory of its host that it pins. */
struct shard_gpu_size {
    uint64_t device_bytes, pinned_bytes;
};

/* For `count` floats in each of `arrays` arrays, and pieces of `piece` floats. Pure. */
struct shard_gpu_size shard_gpu_size(uint64_t count, uint32_t arrays, uint32_t slices,
                                     uint32_t piece);

struct shard_gpu;

/* TN_EDEVICE, TN_ENOMEM; `*out` is NULL then. */
MUST_CHECK enum tn_status shard_gpu_open(const struct shard_gpu_config *config,
                                         struct shard_gpu **out, struct error *error);
/* NULL is allowed. */
void shard_gpu_close(struct shard_gpu *gpu);

/* Replace all arrays. TN_EDEVICE. */
MUST_CHECK enum tn_status shard_gpu_write(struct shard_gpu *gpu,
                                          float *const arrays[static OPTIMIZER_ARRAYS_MAX],
                                          struct error *error);
/* Copy one array to `out`. TN_EDEVICE. */
MUST_CHECK enum tn_status shard_gpu_read(struct shard_gpu *gpu, uint32_t array, float *out,
                                         struct error *error);

/* Copies `count` floats from `offset` of the pushed sum in slot `slot` to `out`. */
typedef void shard_gpu_pushed(const void *ctx, uint32_t slot, uint64_t offset, uint64_t count,
                              float *out);

/* The update of a part of the shard. */
struct shard_gpu_update {
    const struct optimizer *optimizer;
    uint64_t step;                /* Updates that were applied. */
    uint64_t first;               /* The parameter with which the shard begins. */
    uint64_t offset, count;       /* The part, in floats of the shard. */
    const struct slice_sum *sums; /* By slices_plan(); none: the sum in slot `root`. */
    uint32_t sum_count, root;
    shard_gpu_pushed *pushed;
    const void *ctx;
    float *values, *average; /* Whole arrays for the new ones; NULL: no moving average. */
};

/* Apply the update to this part of the arrays of the GPU, and copy the new values to the host.
 * TN_EDEVICE. */
MUST_CHECK enum tn_status shard_gpu_apply(struct shard_gpu *gpu,
                                          const struct shard_gpu_update *update,
                                          struct error *error);

#endif
