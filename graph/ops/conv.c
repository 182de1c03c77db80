/*
 * graph/ops/conv.c: convolution of images [batch][height][width][channels] with weights
 * [height][width][channels / groups][filters]. Integers: ops/window.h. With groups, filter f sees
 * the channels of its group; with as many groups as channels it is depthwise.
 */
#include <inttypes.h>

#include "graph/ops/ops.h"
#include "graph/ops/window.h"

static enum tn_status check_channels(const struct tn_shape *x, const struct tn_shape *weights,
                                     int64_t groups, struct error *error)
{
    if (weights->rank != 4) {
        return error_set(error, TN_EINVAL,
                         "the weights must have the shape [height, width, channels / groups, "
                         "filters]");
    }
    if (groups >= 1 && x->dims[3] == weights->dims[2] * groups && weights->dims[3] % groups == 0) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "%" PRId64 " channels in %" PRId64 " groups, but weights for %" PRId64
                     " channels per group and %" PRId64 " filters: both must be divisible by the "
                     "groups",
                     x->dims[3], groups, weights->dims[2], weights->dims[3]);
}

static enum tn_status infer_conv2d(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    const struct tn_shape *x = input_shape(graph, node, 0), *weights = input_shape(graph, node, 1);
    const int64_t *integers = node->attributes.integers;
    enum tn_status status = check_float(graph, node, 0, error);
    if (status == TN_OK) { status = check_float(graph, node, 1, error); }
    if (status == TN_OK) { status = check_channels(x, weights, integers[WINDOW_GROUPS], error); }
    if (status != TN_OK) { return status; }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = (struct tn_shape){
        .rank = 4,
        .dims = {x->dims[0], window_results(x, integers, true), window_results(x, integers, false),
                 weights->dims[3]},
    };
    return TN_OK;
}

static void gradient_of_conv2d(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                               tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    tn_tensor x = input_of(graph, self, 0), weights = input_of(graph, self, 1);
    attributes.shape = *shape_of(graph, weights);
    dx[1] = graph_add(graph, &op_conv2d_weights_gradient, (tn_tensor[]){x, dy[0]}, 2, &attributes);
    attributes.shape = *shape_of(graph, x);
    dx[0] =
        graph_add(graph, &op_conv2d_input_gradient, (tn_tensor[]){weights, dy[0]}, 2, &attributes);
}

/* Two per weight and result: the three convolutions of a step cost the same. */
static double flops_of_conv2d(const struct tn_graph *graph, const struct node *node)
{
    const struct tn_shape *weights = input_shape(graph, node, 1);
    double results = (double)shape_elements(&node->shapes[0]);
    return 2 * results * (double)shape_elements(weights) / (double)weights->dims[3];
}

static double flops_of_input_gradient(const struct tn_graph *graph, const struct node *node)
{
    const struct tn_shape *weights = input_shape(graph, node, 0);
    double results = (double)shape_elements(input_shape(graph, node, 1));
    return 2 * results * (double)shape_elements(weights) / (double)weights->dims[3];
}

static double flops_of_weights_gradient(const struct tn_graph *graph, const struct node *node)
{
    const struct tn_shape *weights = &node->shapes[0];
    double results = (double)shape_elements(input_shape(graph, node, 1));
    return 2 * results * (double)shape_elements(weights) / (double)weights->dims[3];
}

const struct op_type op_conv2d = {
    .name = "conv2d",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_conv2d,
    .build_gradient = gradient_of_conv2d,
    .flops = flops_of_conv2d,
};

const struct op_type op_conv2d_input_gradient = {
    .name = "conv2d_input_gradient",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_from_attributes,
    .flops = flops_of_input_gradient,
};

const struct op_type op_conv2d_weights_gradient = {
    .name = "conv2d_weights_gradient",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_from_attributes,
    .flops = flops_of_weights_gradient,
};

tn_tensor tn_conv2d(struct tn_graph *graph, tn_tensor x, tn_tensor weights, struct tn_window window,
                    uint32_t groups)
{
    struct attributes attributes = {0};
    struct error error;
    if (graph_failed(graph) || x.v == 0 || weights.v == 0) {
        return graph_add2(graph, &op_conv2d, x, weights); /* Reports the missing input. */
    }
    const struct tn_shape *kernel = shape_of(graph, weights);
    if (kernel->rank == 4 && shape_is_valid(kernel) && kernel->dims[0] <= UINT16_MAX &&
        kernel->dims[1] <= UINT16_MAX) {
        bool same_size = (window.height == 0 || window.height == kernel->dims[0]) &&
                         (window.width == 0 || window.width == kernel->dims[1]);
        if (!same_size) {
            return graph_fail(graph, TN_EINVAL,
                              "conv2d: the window is %" PRIu32 " x %" PRIu32
                              ", but the weights have another size: leave both 0",
                              window.height, window.width);
        }
        window.height = (uint32_t)kernel->dims[0];
        window.width = (uint32_t)kernel->dims[1];
    }
    if (window_resolve(shape_of(graph, x), &window, &attributes, &error) != TN_OK) {
        return graph_fail(graph, TN_EINVAL, "conv2d: %s", error.text);
    }
    attributes.integers[WINDOW_GROUPS] = groups == 0 ? 1 : groups;
    return graph_add(graph, &op_conv2d, (tn_tensor[]){x, weights}, 2, &attributes);
}
