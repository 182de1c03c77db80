/* Cases of graph/ops/fused.c: models in which the pass fuse makes these operations. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_FUSED_H
#define TESTS_UNIT_GRAPH_OPS_CASES_FUSED_H

#include "tests/unit/support/op_cases.h"

static tn_tensor layer_of(struct tn_graph *g, enum tn_activation activation)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 2, 4));
    tn_tensor y = tn_matmul(g, x, variable(g, "w", TN_SHAPE(4, 5)), false, false);
    return tn_activate(g, tn_add(g, y, variable(g, "bias", TN_SHAPE(5))), activation);
}

static tn_tensor linear_layer(struct tn_graph *g)
{
    return layer_of(g, TN_LINEAR);
}

static tn_tensor relu_layer(struct tn_graph *g)
{
    return layer_of(g, TN_RELU);
}

static tn_tensor image_layer(struct tn_graph *g, enum tn_activation activation)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 5, 4, 2));
    tn_tensor y = tn_conv2d(g, x, variable(g, "w", TN_SHAPE(3, 3, 2, 4)),
                            (struct tn_window){.same = true}, 1);
    return tn_activate(g, tn_add(g, y, variable(g, "bias", TN_SHAPE(4))), activation);
}

static tn_tensor linear_image_layer(struct tn_graph *g)
{
    return image_layer(g, TN_LINEAR);
}

static tn_tensor relu_image_layer(struct tn_graph *g)
{
    return image_layer(g, TN_RELU);
}

static tn_tensor pooled_image_layer(struct tn_graph *g)
{
    struct tn_window window = {.height = 2, .width = 2, .stride_height = 2, .stride_width = 2};
    return tn_max_pool(g, relu_image_layer(g), window);
}

/* The images are a field, which has no gradient; rows and columns remain beside the windows. */
static tn_tensor first_pooled_layer(struct tn_graph *g)
{
    struct tn_window window = {.height = 2, .width = 2, .stride_height = 2, .stride_width = 2};
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 5, 7, 2));
    x = tn_conv2d(g, x, variable(g, "w", TN_SHAPE(3, 3, 2, 4)), (struct tn_window){.same = true},
                  1);
    x = tn_add(g, x, variable(g, "bias", TN_SHAPE(4)));
    return tn_max_pool(g, tn_activate(g, x, TN_RELU), window);
}

/* Overlapping windows: only the gradients are exchanged. */
static tn_tensor overlapping_image_layer(struct tn_graph *g)
{
    struct tn_window window = {.height = 3, .width = 3, .same = true};
    return tn_max_pool(g, relu_image_layer(g), window);
}

static tn_tensor bias_of_other_width(struct tn_graph *g)
{
    tn_tensor inputs[] = {variable(g, "x", TN_SHAPE(3, 4)), variable(g, "w", TN_SHAPE(4, 5)),
                          variable(g, "bias", TN_SHAPE(4))};
    return graph_add(g, &op_matmul_add, inputs, 3, NULL);
}

static const struct op_case cases_fused[] = {
    {"matmul_add", "matmul_add", linear_layer, .shape = "float32 [batch, 2, 5]"},
    {"matmul_add_relu", "matmul_add_relu", relu_layer, .shape = "float32 [batch, 2, 5]"},
    {"conv2d_add", "conv2d_add", linear_image_layer, .shape = "float32 [batch, 5, 4, 4]"},
    {"conv2d_add_relu", "conv2d_add_relu", relu_image_layer, .shape = "float32 [batch, 5, 4, 4]"},
    {"conv2d_add_relu_max_pool", "conv2d_add_relu_max_pool", pooled_image_layer,
     .shape = "float32 [batch, 2, 2, 4]"},
    {"gradients of pooled convolutions", "conv2d_pool_all_gradients", pooled_image_layer,
     .shape = "float32 [batch, 2, 2, 4]"},
    {"gradients of the first one", "conv2d_pool_gradients", first_pooled_layer,
     .shape = "float32 [batch, 2, 3, 4]"},
    {"relu before pooling with overlaps", "conv2d_add_relu", overlapping_image_layer,
     .shape = "float32 [batch, 5, 4, 4]"},
    {"matmul_add checks the bias", "matmul_add", bias_of_other_width,
     .error = "a vector of the last dimension"},
};

#endif
