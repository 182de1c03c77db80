/*
 * graph/ops/regress.c: losses that compare two values element by element: the mean over the
 * elements of each example. Number 0 of huber is the width of its quadratic part.
 */
#include <math.h>

#include "graph/ops/ops.h"

static enum tn_status infer_compared(const struct tn_graph *graph, struct node *node,
                                     struct error *error)
{
    const struct tn_shape *x = input_shape(graph, node, 0);
    for (uint32_t i = 0; i < 2; i++) {
        enum tn_status status = check_float(graph, node, i, error);
        if (status != TN_OK) { return status; }
    }
    if (!shape_equal(x, input_shape(graph, node, 1)) || !shape_has_batch(x)) {
        return error_set(error, TN_EINVAL,
                         "outputs and targets must have one shape with the batch in front: use "
                         "tn_reshape()");
    }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = (struct tn_shape){.rank = 1, .dims = {x->dims[0]}};
    return TN_OK;
}

static enum tn_status infer_first(const struct tn_graph *graph, struct node *node,
                                  struct error *error)
{
    (void)error;
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = *input_shape(graph, node, 0);
    return TN_OK;
}

static tn_tensor back_to_outputs(struct tn_graph *graph, const struct op_type *op, tn_tensor self,
                                 tn_tensor dy)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    tn_tensor inputs[] = {input_of(graph, self, 0), input_of(graph, self, 1), dy};
    return graph_add(graph, op, inputs, 3, &attributes);
}

/* Losses of outputs - targets: the gradients are opposite. */
static void by_difference(struct tn_graph *graph, const struct op_type *op, tn_tensor self,
                          tn_tensor dy, tn_tensor *dx)
{
    dx[0] = back_to_outputs(graph, op, self, dy);
    dx[1] = tn_scale(graph, dx[0], -1);
}

/* d loss / d targets = -logits / elements */
static void by_logits(struct tn_graph *graph, const struct op_type *op, tn_tensor self,
                      tn_tensor dy, tn_tensor *dx)
{
    tn_tensor logits = input_of(graph, self, 0);
    struct tn_shape shape = *shape_of(graph, logits), column = shape;
    for (uint32_t i = 1; i < column.rank; i++) { column.dims[i] = 1; }
    float factor = (float)(-1.0 / (double)shape_elements(&shape));
    dx[0] = back_to_outputs(graph, op, self, dy);
    dx[1] = tn_scale(graph, tn_multiply(graph, logits, tn_reshape(graph, dy, column)), factor);
}

#define LOSS(operation, rule)                                                                      \
    static void gradient_of_##operation(struct tn_graph *graph, tn_tensor self,                    \
                                        const tn_tensor *dy, tn_tensor *dx)                        \
    {                                                                                              \
        rule(graph, &op_##operation##_gradient, self, dy[0], dx);                                  \
    }                                                                                              \
    const struct op_type op_##operation = {                                                        \
        .name = #operation,                                                                        \
        .version = 1,                                                                              \
        .inputs_min = 2,                                                                           \
        .inputs_max = 2,                                                                           \
        .outputs = 1,                                                                              \
        .infer = infer_compared,                                                                   \
        .build_gradient = gradient_of_##operation,                                                 \
    };                                                                                             \
    const struct op_type op_##operation##_gradient = {                                             \
        .name = #operation "_gradient",                                                            \
        .version = 1,                                                                              \
        .traits = {.inplace = 3},                                                                  \
        .inputs_min = 3,                                                                           \
        .inputs_max = 3,                                                                           \
        .outputs = 1,                                                                              \
        .infer = infer_first,                                                                      \
    };

LOSS(squared_error, by_difference)
LOSS(absolute_error, by_difference)
LOSS(huber_error, by_difference)
LOSS(sigmoid_cross_entropy, by_logits)

tn_tensor tn_squared_error(struct tn_graph *graph, tn_tensor outputs, tn_tensor targets)
{
    return graph_add2(graph, &op_squared_error, outputs, targets);
}

tn_tensor tn_absolute_error(struct tn_graph *graph, tn_tensor outputs, tn_tensor targets)
{
    return graph_add2(graph, &op_absolute_error, outputs, targets);
}

tn_tensor tn_huber_error(struct tn_graph *graph, tn_tensor outputs, tn_tensor targets, float width)
{
    struct attributes attributes = {.numbers = {(double)width}};
    if (!(width > 0 && isfinite(width))) {
        return graph_fail(graph, TN_EINVAL, "huber_error: a width of %g: give one above 0",
                          (double)width);
    }
    return graph_add(graph, &op_huber_error, (tn_tensor[]){outputs, targets}, 2, &attributes);
}

tn_tensor tn_sigmoid_cross_entropy(struct tn_graph *graph, tn_tensor logits, tn_tensor targets)
{
    return graph_add2(graph, &op_sigmoid_cross_entropy, logits, targets);
}
