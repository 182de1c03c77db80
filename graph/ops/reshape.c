/* graph/ops/reshape.c: views: the same elements under another shape, and without a gradient. */
#include <inttypes.h>

#include "graph/ops/ops.h"

static enum tn_status infer_reshape(const struct tn_graph *graph, struct node *node,
                                    struct error *error)
{
    char text[SHAPE_TEXT_MAX];
    const struct tn_shape *x = input_shape(graph, node, 0);
    node->shapes[0] = node->attributes.shape;
    node->types[0] = input_type(graph, node, 0);
    if (!shape_is_valid(&node->shapes[0])) { return TN_OK; } /* graph_add() refuses it. */
    if (shape_has_batch(x) == shape_has_batch(&node->shapes[0]) &&
        shape_elements(x) == shape_elements(&node->shapes[0])) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "%s has another number of elements: keep it, and the batch in front",
                     shape_format(node->types[0], &node->shapes[0], text));
}

static void gradient_of_reshape(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                tn_tensor *dx)
{
    dx[0] = tn_reshape(graph, dy[0], *shape_of(graph, input_of(graph, self, 0)));
}

const struct op_type op_reshape = {
    .name = "reshape",
    .version = 1,
    .traits = {.view = true},
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_reshape,
    .build_gradient = gradient_of_reshape,
};

static enum tn_status infer_same(const struct tn_graph *graph, struct node *node,
                                 struct error *error)
{
    (void)error;
    node->shapes[0] = *input_shape(graph, node, 0);
    node->types[0] = input_type(graph, node, 0);
    return TN_OK;
}

static void no_gradient(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy, tn_tensor *dx)
{
    (void)graph, (void)self, (void)dy;
    dx[0] = TN_NONE;
}

const struct op_type op_stop_gradient = {
    .name = "stop_gradient",
    .version = 1,
    .traits = {.view = true},
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_same,
    .build_gradient = no_gradient,
};

tn_tensor tn_reshape(struct tn_graph *graph, tn_tensor x, struct tn_shape shape)
{
    struct attributes attributes = {.shape = shape};
    return graph_add(graph, &op_reshape, &x, 1, &attributes);
}

tn_tensor tn_stop_gradient(struct tn_graph *graph, tn_tensor x)
{
    return graph_add1(graph, &op_stop_gradient, x);
}
