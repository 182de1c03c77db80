/* graph/ops/elementwise.c: sums, differences, products and quotients with NumPy's broadcasting. */
#include "graph/ops/ops.h"

static enum tn_status infer_binary(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    for (uint32_t i = 0; i < 2; i++) {
        enum tn_status status = check_float(graph, node, i, error);
        if (status != TN_OK) { return status; }
    }
    node->types[0] = TN_FLOAT32;
    if (shape_broadcast(input_shape(graph, node, 0), input_shape(graph, node, 1),
                        &node->shapes[0])) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "the shapes do not fit: aligned at their last dimensions, two sizes must be "
                     "equal or one of them 1; use tn_reshape()");
}

/* The gradient of input `input`, without the dimensions that broadcasting repeated. */
static tn_tensor back_to_input(struct tn_graph *graph, tn_tensor self, uint32_t input,
                               tn_tensor gradient)
{
    if (gradient.v == 0) { return TN_NONE; }
    struct tn_shape shape = *shape_of(graph, input_of(graph, self, input));
    return sum_to_shape(graph, gradient, &shape);
}

static void gradient_of_add(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                            tn_tensor *dx)
{
    dx[0] = back_to_input(graph, self, 0, dy[0]);
    dx[1] = back_to_input(graph, self, 1, dy[0]);
}

static void gradient_of_subtract(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                 tn_tensor *dx)
{
    dx[0] = back_to_input(graph, self, 0, dy[0]);
    dx[1] = back_to_input(graph, self, 1, tn_scale(graph, dy[0], -1));
}

static void gradient_of_multiply(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                 tn_tensor *dx)
{
    tn_tensor a = input_of(graph, self, 0), b = input_of(graph, self, 1);
    dx[0] = back_to_input(graph, self, 0, tn_multiply(graph, dy[0], b));
    dx[1] = back_to_input(graph, self, 1, tn_multiply(graph, dy[0], a));
}

/* d (a / b) = da / b - y db / b */
static void gradient_of_divide(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                               tn_tensor *dx)
{
    tn_tensor quotient = tn_divide(graph, dy[0], input_of(graph, self, 1));
    tn_tensor product = tn_scale(graph, tn_multiply(graph, quotient, self), -1);
    dx[0] = back_to_input(graph, self, 0, quotient);
    dx[1] = back_to_input(graph, self, 1, product);
}

/* The kernels compute element by element, so the output may replace an input of the same shape. */
#define BINARY(operation)                                                                          \
    const struct op_type op_##operation = {                                                        \
        .name = #operation,                                                                        \
        .version = 1,                                                                              \
        .traits = {.inplace = 3},                                                                  \
        .inputs_min = 2,                                                                           \
        .inputs_max = 2,                                                                           \
        .outputs = 1,                                                                              \
        .infer = infer_binary,                                                                     \
        .build_gradient = gradient_of_##operation,                                                 \
    };                                                                                             \
    tn_tensor tn_##operation(struct tn_graph *graph, tn_tensor a, tn_tensor b)                     \
    {                                                                                              \
        return graph_add2(graph, &op_##operation, a, b);                                           \
    }

BINARY(add)
BINARY(subtract)
BINARY(multiply)
BINARY(divide)
