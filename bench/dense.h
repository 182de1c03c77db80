/* bench/dense.h: dense layers of the networks here, made directly of the portable kernels. */
#ifndef BENCH_DENSE_H
#define BENCH_DENSE_H

#include "kernels/portable/matmul.h"

/* Pack weights [in][out] for the forward pass, and transposed for the backward pass. */
static inline void dense_pack(const struct portable *kernels, size_t in, size_t out,
                              const float *weights, float *const packed[2])
{
    matmul_pack(kernels, in, out,
                &(struct matmul_operand){.data = weights, .row = out, .column = 1}, packed[0]);
    matmul_pack(kernels, out, in,
                &(struct matmul_operand){.data = weights, .row = 1, .column = out}, packed[1]);
}

/* out[batch][n] = a[batch][k] w + bias with packed w. */
static inline void dense_forward(const struct portable *kernels, size_t batch, size_t n, size_t k,
                                 const float *a, const float *packed, const float *bias, bool relu,
                                 float *out)
{
    struct matmul task = {
        .batch = 1,
        .m = batch,
        .n = n,
        .k = k,
        .a = {.data = a, .row = k, .column = 1},
        .packed = packed,
        .out = out,
        .out_row = n,
        .bias = bias,
        .relu = relu,
    };
    matmul_run(kernels, &task, NULL);
}

/* dw[in][out] = x' dy. */
static inline void dense_gradient(const struct portable *kernels, size_t batch, size_t in,
                                  size_t out, const float *x, const float *dy, float *dw)
{
    struct matmul task = {
        .batch = 1,
        .m = in,
        .n = out,
        .k = batch,
        .a = {.data = x, .row = 1, .column = in},
        .b = {.data = dy, .row = out, .column = 1},
        .out = dw,
        .out_row = out,
    };
    matmul_run(kernels, &task, NULL);
}

#endif
