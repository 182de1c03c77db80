/*
 * graph/reference/real.h: the number type of the reference kernels. Each file of kernels is
 * compiled twice: for float, and with REFERENCE_WIDE for double, in which gradients are checked.
 * Private to graph/reference/.
 *
 * Sums of elements are formed in `real`, one after another in ascending order; inner products and
 * transcendental functions are computed in double and rounded once.
 */
#ifndef GRAPH_REFERENCE_REAL_H
#define GRAPH_REFERENCE_REAL_H

#include "graph/core/backend.h"

#ifdef REFERENCE_WIDE
typedef double real;
#define REAL(name) name##_wide
#else
typedef float real;
#define REAL(name) name##_float
#endif

/* The kernels of op_matmul and op_conv2d, with which fused kernels begin. */
void REAL(reference_product)(const struct kernel_call *call);
void REAL(reference_convolution)(const struct kernel_call *call);
void REAL(reference_pooled_convolution)(const struct kernel_call *call);

struct kernel_row {
    const struct op_type *op;
    kernel_function kernel;
};

/* One table per file of kernels; each ends with a row of zeros. */
#define REFERENCE_TABLES(X)                                                                        \
    X(leaves)                                                                                      \
    X(elementwise)                                                                                 \
    X(unary)                                                                                       \
    X(matmul)                                                                                      \
    X(fused)                                                                                       \
    X(reduce)                                                                                      \
    X(arrange)                                                                                     \
    X(activation)                                                                                  \
    X(softmax)                                                                                     \
    X(gather)                                                                                      \
    X(classify)                                                                                    \
    X(regress)                                                                                     \
    X(retrieval)                                                                                   \
    X(conv)                                                                                        \
    X(pool)                                                                                        \
    X(normalize)                                                                                   \
    X(dropout)                                                                                     \
    X(attention)                                                                                   \
    X(custom)

#define X(family)                                                                                  \
    extern const struct kernel_row reference_##family##_float[], reference_##family##_wide[];
REFERENCE_TABLES(X)
#undef X

static inline const real *real_input(const struct kernel_call *call, uint32_t input)
{
    assert(call->in[input].type == TN_FLOAT32);
    return call->in[input].data;
}

static inline real *real_output(const struct kernel_call *call, uint32_t output)
{
    assert(call->out[output].type == TN_FLOAT32);
    return call->out[output].data;
}

/* Number of elements of output 0. */
static inline int64_t output_elements(const struct kernel_call *call)
{
    return shape_elements(&call->out[0].shape);
}

#endif
