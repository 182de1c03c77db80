/* graph/reference/fused.c: products with an epilogue, in the bits of their parts. */
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

static void add_bias(const struct kernel_call *call)
{
    const real *bias = real_input(call, 2);
    real *out = real_output(call, 0);
    int64_t columns = shape_last(&call->out[0].shape);
    for (int64_t i = 0; i < output_elements(call); i++) { out[i] += bias[i % columns]; }
}

static void add_bias_relu(const struct kernel_call *call)
{
    real *out = real_output(call, 0);
    add_bias(call);
    for (int64_t i = 0; i < output_elements(call); i++) {
        if (out[i] < 0) { out[i] = 0; }
    }
}

#define FUSED(name, product, epilogue)                                                             \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        REAL(product)(call);                                                                       \
        epilogue(call);                                                                            \
    }

FUSED(matmul_add, reference_product, add_bias)
FUSED(matmul_add_relu, reference_product, add_bias_relu)
FUSED(conv2d_add, reference_convolution, add_bias)
FUSED(conv2d_add_relu, reference_convolution, add_bias_relu)

const struct kernel_row REAL(reference_fused)[] = {
    {&op_matmul_add, matmul_add},
    {&op_matmul_add_relu, matmul_add_relu},
    {&op_conv2d_add, conv2d_add},
    {&op_conv2d_add_relu, conv2d_add_relu},
    {&op_conv2d_add_relu_max_pool, REAL(reference_pooled_convolution)},
    {NULL, NULL},
};
