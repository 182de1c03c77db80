/*
 * graph/ops/activation.c: activations. The gradients of relu, leaky_relu, sigmoid and tanh are
 * computed from the output, so that the input need not be kept; those of gelu and silu from the
 * input. gelu is the tanh form: Hendrycks, Gimpel 2016.
 */
#include "graph/ops/ops.h"

static void gradient_by_output(struct tn_graph *graph, const struct op_type *op, tn_tensor self,
                               tn_tensor dy, tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    dx[0] = graph_add(graph, op, (tn_tensor[]){self, dy}, 2, &attributes);
}

static void gradient_by_input(struct tn_graph *graph, const struct op_type *op, tn_tensor self,
                              tn_tensor dy, tn_tensor *dx)
{
    dx[0] = graph_add2(graph, op, input_of(graph, self, 0), dy);
}

/* An activation and the operation of its gradient, with inputs y or x, and dy. */
#define ACTIVATION(operation, rule)                                                                \
    static void gradient_of_##operation(struct tn_graph *graph, tn_tensor self,                    \
                                        const tn_tensor *dy, tn_tensor *dx)                        \
    {                                                                                              \
        rule(graph, &op_##operation##_gradient, self, dy[0], dx);                                  \
    }                                                                                              \
    const struct op_type op_##operation = {                                                        \
        .name = #operation,                                                                        \
        .version = 1,                                                                              \
        .traits = {.inplace = 1},                                                                  \
        .inputs_min = 1,                                                                           \
        .inputs_max = 1,                                                                           \
        .outputs = 1,                                                                              \
        .infer = infer_like_input,                                                                 \
        .build_gradient = gradient_of_##operation,                                                 \
    };                                                                                             \
    const struct op_type op_##operation##_gradient = {                                             \
        .name = #operation "_gradient",                                                            \
        .version = 1,                                                                              \
        .traits = {.inplace = 3},                                                                  \
        .inputs_min = 2,                                                                           \
        .inputs_max = 2,                                                                           \
        .outputs = 1,                                                                              \
        .infer = infer_like_input,                                                                 \
    };

ACTIVATION(relu, gradient_by_output)
ACTIVATION(leaky_relu, gradient_by_output)
ACTIVATION(sigmoid, gradient_by_output)
ACTIVATION(tanh, gradient_by_output)
ACTIVATION(gelu, gradient_by_input)
ACTIVATION(silu, gradient_by_input)

/* The slope of leaky_relu below zero. */
static const double LEAKY_SLOPE = 0.01;

tn_tensor tn_activate(struct tn_graph *graph, tn_tensor x, enum tn_activation activation)
{
    struct attributes leaky = {.numbers = {(double)(float)LEAKY_SLOPE}};
    switch (activation) {
    case TN_LINEAR: return x;
    case TN_RELU: return graph_add1(graph, &op_relu, x);
    case TN_LEAKY_RELU: return graph_add(graph, &op_leaky_relu, &x, 1, &leaky);
    case TN_GELU: return graph_add1(graph, &op_gelu, x);
    case TN_SILU: return graph_add1(graph, &op_silu, x);
    case TN_SIGMOID: return graph_add1(graph, &op_sigmoid, x);
    case TN_TANH: return graph_add1(graph, &op_tanh, x);
    }
    return graph_fail(graph, TN_EINVAL, "unknown activation %d: use a value of enum tn_activation",
                      (int)activation);
}
