/*
 * kernels/kernels.h: the arithmetic of models and optimizers, as one table of functions per
 * backend.
 *
 * Backends: "cpu" (OpenBLAS on one thread, and C loops that the compiler vectorises), "portable"
 * (the same loops, without OpenBLAS: for programs over kernels/portable/, which bring their own
 * products) and "reference" (plain C, with which the tests compare every other backend). "cuda" is
 * reserved; no build has it.
 *
 * Equal bits: for equal inputs and sizes a function returns equal bits on every node with the same
 * fingerprint. Reductions run in a fixed order; no result depends on alignment, threads or time.
 * The functions marked "exact" have the same bits in every backend.
 *
 * Matrices are row-major without gaps. Outputs must not overlap inputs, except where a comment has
 * "in place". Arrays that start on a 64-byte boundary are faster; results do not depend on it.
 *
 * Threads: any, each on its own memory. Nothing blocks, fails or allocates after kernels_open().
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "kernels/optimizer/update.h"
#include "kernels/tree_sum.h"

#define KERNELS_FOR "; kernels for "

struct kernels {
    const char *name;

    /* Write what the bits of inexact functions depend on as text, truncated to `size`: the backend,
     * the build of its library, and after KERNELS_FOR the type of processor. */
    void (*fingerprint)(char *text, size_t size);

    /* out[m][n] = op(a) op(b), where op(a) is m x k and op(b) is k x n. With `transpose_a`, `a` is
     * stored k x m; with `transpose_b`, `b` is stored n x k. */
    void (*multiply)(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k,
                     const float *a, const float *b, float *out);

    /* into[i] += from[i]. Exact. */
    void (*add)(size_t count, const float *from, float *into);
    /* out[i] = the sum of element at + i of the arrays in `terms`, one or more, in their order.
     * Exact. */
    void (*sum_tree)(size_t at, size_t count, uint32_t term_count, const struct sum_term *terms,
                     float *out);
    /* out[i] = values[i], written past the caches: for arrays that are read again only after others
     * would have displaced them. Other threads may read them after stream_fence(). Exact. */
    void (*stream)(size_t count, const float *values, float *out);
    /* Order what stream() has stored before later stores, as the release of a lock alone does
     * not. */
    void (*stream_fence)(void);
    /* Whether none of the values is an infinity or a NaN. Exact. */
    bool (*all_finite)(size_t count, const float *values);
    /* out[i] = bytes[i] / 255. Exact. */
    void (*divide_bytes)(size_t count, const uint8_t *bytes, float *out);
    /* values[i] *= factor. Exact. */
    void (*scale)(size_t count, float factor, float *values);
    /* matrix[r][c] += bias[c], in place. Exact. */
    void (*add_bias)(size_t rows, size_t columns, const float *bias, float *matrix);
    /* out[c] = matrix[0][c] + matrix[1][c] + ..., in this order. Exact. */
    void (*sum_rows)(size_t rows, size_t columns, const float *matrix, float *out);
    /* values[i] = max(values[i], 0), in place; NaN stays. Exact. */
    void (*relu)(size_t count, float *values);
    /* gradient[i] = 0 where activations[i], the output of relu, is 0; in place. Exact. */
    void (*relu_backward)(size_t count, const float *activations, float *gradient);

    /* One row: returns -log softmax(logits)[label], and leaves e = exp(logits - their greatest)
     * in their place. */
    double (*cross_entropy)(size_t columns, float *logits, size_t label);
    /* scale * (e / sum(e) - onehot(label)), the gradient of that loss, in place of e. */
    void (*cross_entropy_backward)(size_t columns, float *exponentials, size_t label, float scale);
    /* Loss mean over c of (outputs[r][c] - targets[r][c])^2, and in place of the outputs scale
     * times its gradient. Returns the sum of the losses over rows. Exact. */
    double (*squared_error)(size_t rows, size_t columns, float *outputs, const float *targets,
                            float scale);
    /* The number of rows whose greatest logit, the first if several are equal, is at labels[r].
     * Exact. */
    size_t (*count_correct)(size_t rows, size_t columns, const float *logits,
                            const uint8_t *labels);

    /* Optimizers, by kind (kernels/optimizer/update.h). They read one array of values and write
     * another, so that the values of step s do not change while those of step s + 1 are computed;
     * their state may be updated in place. Exact. */
    const struct optimizer_kernels *optimizers;
};

/* `count` floats on a 64-byte boundary, contents undefined; free() them. NULL: out of memory. */
float *kernels_allocate(size_t count);

/* The built-in backends, in static storage. kernels_cpu() has the loops for this processor; its
 * `multiply` and `fingerprint` load OpenBLAS at their first use if kernels_open() has not done so,
 * and abort the program if it is not installed. */
const struct kernels *kernels_cpu(void);
const struct kernels *kernels_reference(void);

/*
 * The backend called `name`, in static storage. A program that uses `multiply` calls this at its
 * start, before it has threads: "cpu" sets an environment variable for OpenBLAS.
 *
 *   TN_EINVAL  no backend has this name
 *   TN_ENOENT  "cuda": this build has no such backend; "cpu": OpenBLAS is not installed
 */
MUST_CHECK enum tn_status kernels_open(const char *name, const struct kernels **out,
                                       struct error *error);

#endif
