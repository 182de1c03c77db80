/* bench/dense.h: dense layers of the networks here, made directly of the portable kernels. */
#ifndef BENCH_DENSE_H
#define BENCH_DENSE_H

#include "kernels/portable/matmul.h"

/* Pack weights [in][out], transposed, for dense_input_gradient(). */
static inline void dense_pack(const struct portable *kernels, size_t in, size_t out,
                              const float *weights, float *packed)
{
    matmul_pack(kernels, out, in,
                &(struct matmul_operand){.data = weights, .row = 1, .column = out}, packed);
}

/* y[batch][out] = x[batch][in] w + bias. The weights are packed into `packed` if that pays. */
static inline void dense_forward(const struct portable *kernels, size_t batch, size_t in,
                                 size_t out, const float *x, const float *weights, float *packed,
                                 const float *bias, bool relu, float *y)
{
    struct matmul task = {
        .batch = 1,
        .m = batch,
        .n = out,
        .k = in,
        .a = {.data = x, .row = in, .column = 1},
        .b = {.data = weights, .row = out, .column = 1},
        .out = y,
        .out_row = out,
        .bias = bias,
        .relu = relu,
    };
    if (matmul_packing_pays(kernels, &task)) {
        matmul_pack(kernels, in, out, &task.b, packed);
        task.packed = packed;
    }
    matmul_run(kernels, &task, NULL);
}

/* dx[batch][in] = dy[batch][out] w' with packed w. */
static inline void dense_input_gradient(const struct portable *kernels, size_t batch, size_t in,
                                        size_t out, const float *dy, const float *packed, float *dx)
{
    struct matmul task = {
        .batch = 1,
        .m = batch,
        .n = in,
        .k = out,
        .a = {.data = dy, .row = out, .column = 1},
        .packed = packed,
        .out = dx,
        .out_row = in,
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
