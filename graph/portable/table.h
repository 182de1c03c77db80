/* graph/portable/table.h: the operations that have portable kernels. Private to graph/portable/. */
#ifndef GRAPH_PORTABLE_TABLE_H
#define GRAPH_PORTABLE_TABLE_H

#include "graph/core/backend.h"
#include "kernels/portable/portable.h"

struct portable_row {
    const struct op_type *op;
    kernel_function kernel;
    /* As in struct backend; NULL: nothing. */
    struct kernel_needs (*needs)(const struct kernel_call *call);
    void (*pack)(const struct kernel_call *call, void *packed);
};

/* One table per file of kernels; each ends with a row of zeros. */
#define PORTABLE_TABLES(X)                                                                         \
    X(exact)                                                                                       \
    X(elementwise)                                                                                 \
    X(unary)                                                                                       \
    X(activation)                                                                                  \
    X(matmul)                                                                                      \
    X(reduce)                                                                                      \
    X(softmax)                                                                                     \
    X(classify)                                                                                    \
    X(regress)                                                                                     \
    X(retrieval)                                                                                   \
    X(conv)                                                                                        \
    X(pool)                                                                                        \
    X(normalize)                                                                                   \
    X(dropout)                                                                                     \
    X(attention)

#define X(family) extern const struct portable_row portable_##family[];
PORTABLE_TABLES(X)
#undef X

static inline const struct portable *kernels_of(const struct kernel_call *call)
{
    assert(call->kernels != NULL);
    return call->kernels;
}

static inline const float *float_input(const struct kernel_call *call, uint32_t input)
{
    assert(call->in[input].type == TN_FLOAT32);
    return call->in[input].data;
}

static inline float *float_output(const struct kernel_call *call, uint32_t output)
{
    assert(call->out[output].type == TN_FLOAT32);
    return call->out[output].data;
}

static inline size_t elements_of(const struct tn_view *view)
{
    return (size_t)shape_elements(&view->shape);
}

static inline struct kernel_needs needs_floats(size_t workspace, size_t packed)
{
    return (struct kernel_needs){workspace * sizeof(float), packed * sizeof(float)};
}

static inline bool is_steady(const struct kernel_call *call, uint32_t input)
{
    return (call->steady >> input & 1) != 0;
}

#endif
