/* model/onnx/matrices.c: matrix products. */
#include <inttypes.h>

#include "model/onnx/node.h"

static void build_matmul(struct onnx_call *call)
{
    tn_tensor a = onnx_tensor(call, 0), b = onnx_tensor(call, 1);
    onnx_put(call, 0, tn_matmul(call->graph, a, b, false, false));
}

static tn_tensor scaled(struct onnx_call *call, tn_tensor x, const char *name)
{
    const float factor = onnx_number(call, name, 1);
    return factor != 1 ? tn_scale(call->graph, x, factor) : x;
}

/* alpha a b + beta c */
static void build_gemm(struct onnx_call *call)
{
    const bool transpose_a = onnx_integer(call, "transA", 0) != 0;
    const bool transpose_b = onnx_integer(call, "transB", 0) != 0;
    tn_tensor a = onnx_tensor(call, 0), b = onnx_tensor(call, 1);
    tn_tensor y = tn_matmul(call->graph, a, b, transpose_a, transpose_b);
    y = scaled(call, y, "alpha");
    if (onnx_input(call, 2) != NULL) {
        y = tn_add(call->graph, y, scaled(call, onnx_tensor(call, 2), "beta"));
    }
    onnx_put(call, 0, y);
}

const struct onnx_operation onnx_matrices[] = {
    {"MatMul", build_matmul, "", 2, 2, NULL, NULL},
    {"Gemm", build_gemm, "alpha beta transA transB ", 2, 3, NULL, NULL},
    {NULL, NULL, NULL, 0, 0, NULL, NULL},
};
