/*
 * graph/ops/fused.c: chains of operations as one. They are made by the pass fuse, never by a model,
 * and only where the backend has a kernel that is bit-identical to the parts. Inputs and attributes
 * are those of the matmul, then the bias, a vector of the last dimension.
 */
#include "graph/ops/ops.h"

static enum tn_status infer_fused(const struct tn_graph *graph, struct node *node,
                                  struct error *error)
{
    enum tn_status status = op_matmul.infer(graph, node, error);
    if (status == TN_OK) { status = check_float(graph, node, 2, error); }
    if (status != TN_OK || is_bias_of(&node->shapes[0], input_shape(graph, node, 2))) {
        return status;
    }
    return error_set(error, TN_EINVAL, "the bias must be a vector of the last dimension");
}

bool is_bias_of(const struct tn_shape *shape, const struct tn_shape *bias)
{
    return shape->rank >= 1 && bias->rank == 1 && bias->dims[0] == shape_last(shape);
}

static double flops_of_fused(const struct tn_graph *graph, const struct node *node)
{
    return op_matmul.flops(graph, node) + (double)shape_elements(&node->shapes[0]);
}

const struct op_type op_matmul_add = {
    .name = "matmul_add",
    .version = 1,
    .inputs_min = 3,
    .inputs_max = 3,
    .outputs = 1,
    .infer = infer_fused,
    .flops = flops_of_fused,
};

const struct op_type op_matmul_add_relu = {
    .name = "matmul_add_relu",
    .version = 1,
    .inputs_min = 3,
    .inputs_max = 3,
    .outputs = 1,
    .infer = infer_fused,
    .flops = flops_of_fused,
};
