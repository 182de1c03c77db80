/*
 * bench/fused_apply.h: the limit of an update: one pass over memory that adds the gradients of
 * eight slices in the order of the tree, in registers, and applies Adam, with stores that bypass
 * the caches. The bits are those of kernels/optimizer/update.h.
 */
#ifndef BENCH_FUSED_APPLY_H
#define BENCH_FUSED_APPLY_H

#include <stddef.h>

#include "kernels/optimizer/update.h"

enum { FUSED_SLICES = 8 };

/* `count` is a multiple of 8, and all arrays begin on 64-byte boundaries. */
void fused_apply(size_t count, const struct optimizer_constants *constants,
                 const float *const gradients[static FUSED_SLICES],
                 const float *const in[static OPTIMIZER_ARRAYS_MAX],
                 float *const out[static OPTIMIZER_ARRAYS_MAX]);

#endif
