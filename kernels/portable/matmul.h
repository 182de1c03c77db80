/*
 * kernels/portable/matmul.h: batches of matrix products of operands with any strides, which covers
 * all transposes and permuted heads. The bits are those of product.h.
 *
 * A weight that many products of a step share is packed once (matmul_pack()) where that pays; any
 * other right operand is packed within the call where that is necessary or pays, a part of about
 * 256 KiB at a time, so a call needs little memory for a large operand.
 *
 * Threads: any, each on its own memory. Nothing allocates, blocks or fails.
 */
#ifndef KERNELS_PORTABLE_MATMUL_H
#define KERNELS_PORTABLE_MATMUL_H

#include "kernels/portable/portable.h"

/* Element (i, j) of matrix b is data[b * batch + i * row + j * column]. A `batch` of 0 uses one
 * matrix for all. */
struct matmul_operand {
    const float *data;
    size_t batch, row, column;
};

/* out[b] = a[b] b[b] for each of `batch` pairs: m x k by k x n. All sizes are at least 1. */
struct matmul {
    size_t batch, m, n, k;
    struct matmul_operand a, b;
    /* b as packed by matmul_pack(); `b` is not read. Needs b.batch = 0. NULL: not packed. */
    const float *packed;
    float *out;
    size_t out_batch, out_row;
    bool accumulate; /* Start from the values in `out`. */
    /* k is cut into this many equal runs, whose sums are added over a tree (product.h); it divides
     * k. 0 or 1: one sum. Not with `accumulate`. */
    size_t runs;
    /* Epilogue in this order, each operation rounded by itself (product.h). */
    const float *bias;   /* [n]. NULL: none. */
    const float *addend; /* Laid out as `out`; may be `out`. NULL: none. */
    bool relu;
};

/* The number of floats of workspace that matmul_run() needs for this task; may be 0. */
size_t matmul_workspace(const struct portable *kernels, const struct matmul *task);

void matmul_run(const struct portable *kernels, const struct matmul *task, float *workspace);

/* Whether to pack the right operand before the call, if a step has one such call or a few: it must
 * be, or the product takes longer without it than packing takes. */
bool matmul_packing_pays(const struct portable *kernels, const struct matmul *task);

/* The number of floats of a packed k x n operand, and packing it; b.batch is ignored. */
size_t matmul_packed_size(const struct portable *kernels, size_t k, size_t n);
void matmul_pack(const struct portable *kernels, size_t k, size_t n, const struct matmul_operand *b,
                 float *packed);

#endif
