/*
 * kernels/kernels.h: the arithmetic of models and optimizers, as one table of functions a backend.
 *
 * Backends: "cpu" (OpenBLAS on one thread, and C loops that the compiler vectorises), "reference"
 * (plain C, which the tests compare every other backend with) and "cuda" (loaded at run time).
 *
 * Same bits: for equal inputs and sizes a function returns equal bits, on every node whose
 * fingerprint is equal. Reductions run in a fixed order; nothing here depends on alignment, on
 * threads or on time. The functions marked "exact" have the same bits in every backend.
 *
 * Matrices are row-major without gaps. Outputs must not overlap inputs, except where a function
 * says "in place". Arrays should start on 64 bytes for speed; they need not for the result.
 *
 * Threads: any, on memory of their own. Nothing blocks, fails or allocates after kernels_open().
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* The numbers of one Adam step, made by optimizer.c (Kingma, Ba 2015, algorithm 1):
 *   m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g g
 *   values' = values - rate m' / (sqrt(v') root + epsilon)
 * with rate = learning_rate / (1 - beta1^t) and root = 1 / sqrt(1 - beta2^t). */
struct adam_step {
    float rate, beta1, one_minus_beta1, beta2, one_minus_beta2, root, epsilon;
};

struct kernels {
    const char *name;

    /* What the bits of inexact functions depend on: the backend, its library's build, the class of
     * the processor. Written as text, cut to `size`. */
    void (*fingerprint)(char *text, size_t size);

    /* out[m][n] = op(a) op(b), where op(a) is m x k and op(b) is k x n. With `transpose_a`, `a` is
     * stored k x m; with `transpose_b`, `b` is stored n x k. */
    void (*multiply)(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k,
                     const float *a, const float *b, float *out);

    /* into[i] += from[i]. Exact. */
    void (*add)(size_t count, const float *from, float *into);
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

    /* For each row, with p = softmax(logits[r]): loss -log p[labels[r]], and in place of the logits
     * scale * (p - onehot(labels[r])). Returns the sum of the losses. Labels are below `columns`.
     */
    double (*softmax_cross_entropy)(size_t rows, size_t columns, float *logits,
                                    const uint8_t *labels, float scale);
    /* Loss mean over c of (outputs[r][c] - targets[r][c])^2, and in place of the outputs scale
     * times its gradient. Returns the sum of the losses over rows. Exact. */
    double (*squared_error)(size_t rows, size_t columns, float *outputs, const float *targets,
                            float scale);
    /* Rows whose greatest logit, the first if several, is at labels[r]. Exact. */
    size_t (*count_correct)(size_t rows, size_t columns, const float *logits,
                            const uint8_t *labels);

    /*
     * Optimizer steps. They read one set of arrays and write another, so that the values of step s
     * stay whole while s+1 is made: two-buffer publishing (docs/architecture.md). Exact.
     */
    /* values_out = values - rate * gradient */
    void (*sgd)(size_t count, float rate, const float *gradient, const float *values,
                float *values_out);
    /* velocity_out = momentum * velocity + gradient; values_out = values - rate * velocity_out */
    void (*momentum)(size_t count, float rate, float momentum, const float *gradient,
                     const float *values, const float *velocity, float *values_out,
                     float *velocity_out);
    void (*adam)(size_t count, const struct adam_step *step, const float *gradient,
                 const float *values, const float *m, const float *v, float *values_out,
                 float *m_out, float *v_out);
};

/* `count` floats on a 64-byte boundary, contents undefined; free() them. NULL: out of memory. */
float *kernels_allocate(size_t count);

/* The built-in backends. Static storage. kernels_cpu() has the loops for this processor; its
 * `multiply` and `fingerprint` load OpenBLAS at their first use if kernels_open() has not, and the
 * program ends if it is not installed. */
const struct kernels *kernels_cpu(void);
const struct kernels *kernels_reference(void);

/*
 * The backend called `name`, in static storage. Who multiplies opens it so, at start, before there
 * are threads ("cpu" sets an environment variable for OpenBLAS).
 *
 *   TN_EINVAL  there is no backend of that name
 *   TN_ENOENT  "cuda": this build, or this machine, has none; "cpu": OpenBLAS is not installed
 */
MUST_CHECK enum tn_status kernels_open(const char *name, const struct kernels **out,
                                       struct error *error);

#endif
