/* graph/reference/fused.c: matmul with an epilogue, in the bits of its parts. */
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

static void add_bias(const struct kernel_call *call)
{
    const real *bias = real_input(call, 2);
    real *out = real_output(call, 0);
    int64_t columns = shape_last(&call->out[0].shape);
    for (int64_t i = 0; i < output_elements(call); i++) { out[i] += bias[i % columns]; }
}

static void matmul_add(const struct kernel_call *call)
{
    REAL(reference_product)(call);
    add_bias(call);
}

static void matmul_add_relu(const struct kernel_call *call)
{
    real *out = real_output(call, 0);
    matmul_add(call);
    for (int64_t i = 0; i < output_elements(call); i++) {
        if (out[i] < 0) { out[i] = 0; }
    }
}

const struct kernel_row REAL(reference_fused)[] = {
    {&op_matmul_add, matmul_add},
    {&op_matmul_add_relu, matmul_add_relu},
    {NULL, NULL},
};
