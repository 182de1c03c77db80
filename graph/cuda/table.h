/*
 * graph/cuda/table.h: the operations that have kernels for GPUs. Private to graph/cuda/.
 *
 * The data of a call are in the device's memory: an operation starts kernels and reads nothing.
 */
#ifndef GRAPH_CUDA_TABLE_H
#define GRAPH_CUDA_TABLE_H

#include "common/base/minmax.h"
#include "graph/core/backend.h"
#include "graph/ops/ops.h"
#include "kernels/cuda/kernels.h"

struct cuda_row {
    const struct op_type *op;
    kernel_function kernel;
    /* As in struct backend; NULL: nothing. */
    struct kernel_needs (*needs)(const struct kernel_call *call);
};

/* One table per file of operations; each ends with a row of zeros. */
#define CUDA_TABLES(X)                                                                             \
    X(elementwise)                                                                                 \
    X(arrange)                                                                                     \
    X(matmul)                                                                                      \
    X(reduce)                                                                                      \
    X(softmax)                                                                                     \
    X(regress)                                                                                     \
    X(retrieval)                                                                                   \
    X(window)                                                                                      \
    X(normalize)                                                                                   \
    X(attention)

#define X(family) extern const struct cuda_row cuda_##family[];
CUDA_TABLES(X)
#undef X

/* An operation's function, and its arguments. */
#define OPERATION(n) static void n(const struct kernel_call *call)
#define IN(number)   ((const float *)call->in[number].data)
#define OUT(number)  ((float *)call->out[number].data)
#define NUMBER       ((float)call->node->attributes.numbers[0])
#define INTEGERS     (call->node->attributes.integers)

static inline const struct cuda_kernels *kernels_of(const struct kernel_call *call)
{
    assert(call->kernels != NULL);
    return call->kernels;
}

static inline size_t elements_of(const struct tn_view *view)
{
    return (size_t)shape_elements(&view->shape);
}

/* A dimension, counted from the last one: 1. */
static inline size_t dim_of(const struct tn_view *view, uint32_t from_end)
{
    return (size_t)view->shape.dims[view->shape.rank - from_end];
}

static inline uint32_t element_bytes(const struct tn_view *view)
{
    return (uint32_t)type_size(view->type, false);
}

static inline struct cuda_shape shape_for(const struct tn_shape *y)
{
    struct cuda_shape shape = {.rank = y->rank};
    assert(y->rank <= CUDA_RANK_MAX);
    for (uint32_t i = 0; i < y->rank; i++) { shape.dims[i] = (size_t)y->dims[i]; }
    return shape;
}

/* The strides of `x`, which is repeated to `y` where its size is 1. */
static inline struct cuda_strides strides_for(const struct tn_shape *y, const struct tn_shape *x)
{
    assert(x->rank <= y->rank);
    struct cuda_strides strides = {.first = 0};
    size_t stride = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        const size_t size = (size_t)x->dims[x->rank - 1 - i];
        strides.stride[y->rank - 1 - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return strides;
}

/* `used` bytes of the workspace, and behind them memory for the rounded operands of a product. */
static inline uint64_t used_bytes(uint64_t used)
{
    return (used + CUDA_ROUNDED_ALIGNMENT - 1) / CUDA_ROUNDED_ALIGNMENT * CUDA_ROUNDED_ALIGNMENT;
}

static inline struct kernel_needs needs_rounded(const struct kernel_call *call, uint64_t used,
                                                size_t left, size_t right)
{
    const size_t bytes = cuda_rounded_bytes(kernels_of(call)->precision, left, right);
    return (struct kernel_needs){.workspace = bytes == 0 ? used : used_bytes(used) + bytes};
}

static inline struct cuda_rounding rounding_behind(const struct kernel_call *call, uint64_t used)
{
    const enum cuda_precision precision = kernels_of(call)->precision;
    struct cuda_rounding rounding = {.precision = precision};
    if (precision == CUDA_BF16 && call->workspace != NULL) { /* NULL: its size is asked for. */
        rounding.operands = (uint8_t *)call->workspace + used_bytes(used);
    }
    return rounding;
}

#endif
