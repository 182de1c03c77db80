/*
 * graph/ops/fused.c: chains of operations as one. They are made by the pass fuse, never by a model,
 * and only where the backend has a kernel that is bit-identical to the parts. Inputs and attributes
 * are those of the product, then the bias, a vector of the last dimension.
 */
#include "graph/ops/ops.h"
#include "graph/ops/window.h"

/* The rule of the product, and the third input is a bias. */
static enum tn_status infer_fused(const struct op_type *product, const struct tn_graph *graph,
                                  struct node *node, struct error *error)
{
    enum tn_status status = product->infer(graph, node, error);
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

#define FUSED(product, fused)                                                                      \
    static enum tn_status infer_##fused(const struct tn_graph *graph, struct node *node,           \
                                        struct error *error)                                       \
    {                                                                                              \
        return infer_fused(&op_##product, graph, node, error);                                     \
    }                                                                                              \
    static double flops_of_##fused(const struct tn_graph *graph, const struct node *node)          \
    {                                                                                              \
        return op_##product.flops(graph, node) + (double)shape_elements(&node->shapes[0]);         \
    }                                                                                              \
    const struct op_type op_##fused = {                                                            \
        .name = #fused,                                                                            \
        .version = 1,                                                                              \
        .inputs_min = 3,                                                                           \
        .inputs_max = 3,                                                                           \
        .outputs = 1,                                                                              \
        .infer = infer_##fused,                                                                    \
        .flops = flops_of_##fused,                                                                 \
    };

FUSED(matmul, matmul_add)
FUSED(matmul, matmul_add_relu)
FUSED(conv2d, conv2d_add)
FUSED(conv2d, conv2d_add_relu)

/* The results of conv2d_add_relu in squares without gaps; a remainder is dropped. */
static enum tn_status infer_pooled(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    enum tn_status status = infer_fused(&op_conv2d, graph, node, error);
    int64_t side = node->attributes.integers[WINDOW_POOL_SIDE];
    if (status != TN_OK) { return status; }
    assert(side >= 1);
    node->shapes[0].dims[1] /= side;
    node->shapes[0].dims[2] /= side;
    node->shapes[1] = node->shapes[0];
    node->types[1] = TN_UINT8;
    return TN_OK;
}

static double flops_of_pooled(const struct tn_graph *graph, const struct node *node)
{
    int64_t side = node->attributes.integers[WINDOW_POOL_SIDE];
    return (op_conv2d.flops(graph, node) + (double)shape_elements(&node->shapes[0])) *
           (double)(side * side);
}

const struct op_type op_conv2d_add_relu_max_pool = {
    .name = "conv2d_add_relu_max_pool",
    .version = 1,
    .inputs_min = 3,
    .inputs_max = 3,
    .outputs = 2,
    .infer = infer_pooled,
    .flops = flops_of_pooled,
};

/* The gradients have the shapes of the weights, the bias and x. */
static enum tn_status infer_pool_gradients(const struct tn_graph *graph, struct node *node,
                                           struct error *error)
{
    enum tn_status status = check_integer(graph, node, 1, error);
    if (status != TN_OK) { return status; }
    node->shapes[0] = node->attributes.shape;
    node->shapes[1] = (struct tn_shape){.rank = 1, .dims = {shape_last(&node->attributes.shape)}};
    node->shapes[2] = *input_shape(graph, node, 0);
    for (uint32_t o = 0; o < node->op->outputs; o++) { node->types[o] = TN_FLOAT32; }
    return TN_OK;
}

/* Two per weight and result before pooling, for each gradient but that of the bias. */
static double flops_of_pool_gradients(const struct tn_graph *graph, const struct node *node)
{
    const int64_t side = node->attributes.integers[WINDOW_POOL_SIDE];
    double results = (double)(shape_elements(input_shape(graph, node, 2)) * side * side);
    double weights = (double)shape_elements(&node->shapes[0]) / (double)node->shapes[0].dims[3];
    return results * (1 + 2 * weights * (node->op->outputs - 1));
}

#define POOL_GRADIENTS(operation, inputs, results)                                                 \
    const struct op_type op_##operation = {                                                        \
        .name = #operation,                                                                        \
        .version = 1,                                                                              \
        .inputs_min = inputs,                                                                      \
        .inputs_max = inputs,                                                                      \
        .outputs = results,                                                                        \
        .infer = infer_pool_gradients,                                                             \
        .flops = flops_of_pool_gradients,                                                          \
    };

POOL_GRADIENTS(conv2d_pool_gradients, 3, 2)
POOL_GRADIENTS(conv2d_pool_all_gradients, 4, 3)
