/* Cases of graph/ops/activation.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_ACTIVATION_H
#define TESTS_UNIT_GRAPH_OPS_CASES_ACTIVATION_H

#include "tests/unit/support/op_cases.h"

#define ACTIVATED(name, kind)                                                                      \
    static tn_tensor name(struct tn_graph *g)                                                      \
    {                                                                                              \
        return tn_activate(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 7)), kind);                   \
    }

ACTIVATED(linear_values, TN_LINEAR)
ACTIVATED(relu_values, TN_RELU)
ACTIVATED(leaky_relu_values, TN_LEAKY_RELU)
ACTIVATED(gelu_values, TN_GELU)
ACTIVATED(silu_values, TN_SILU)
ACTIVATED(sigmoid_values, TN_SIGMOID)
ACTIVATED(tanh_values, TN_TANH)
ACTIVATED(unknown_values, (enum tn_activation)77)

static tn_tensor known(struct tn_graph *g, enum tn_activation activation)
{
    const float values[] = {-2, 0, 1};
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(3), (void *)(uintptr_t)values};
    return tn_activate(g, tn_constant(g, view), activation);
}

static tn_tensor known_relu(struct tn_graph *g)
{
    return known(g, TN_RELU);
}

static tn_tensor known_leaky_relu(struct tn_graph *g)
{
    return known(g, TN_LEAKY_RELU);
}

static tn_tensor known_gelu(struct tn_graph *g)
{
    return known(g, TN_GELU);
}

static tn_tensor known_silu(struct tn_graph *g)
{
    return known(g, TN_SILU);
}

static tn_tensor known_sigmoid(struct tn_graph *g)
{
    return known(g, TN_SIGMOID);
}

static tn_tensor activated_integers(struct tn_graph *g)
{
    return tn_activate(g, tn_placeholder(g, "x", TN_INT32, TN_SHAPE(TN_BATCH)), TN_RELU);
}

/* The known values of gelu are those of PyTorch's approximate="tanh". */
static const struct op_case cases_activation[] = {
    {"linear", "add", linear_values, .shape = "float32 [batch, 7]"},
    {"relu", "relu", relu_values, .shape = "float32 [batch, 7]"},
    {"leaky_relu", "leaky_relu", leaky_relu_values, .shape = "float32 [batch, 7]"},
    {"gelu", "gelu", gelu_values, .shape = "float32 [batch, 7]"},
    {"silu", "silu", silu_values, .shape = "float32 [batch, 7]"},
    {"sigmoid", "sigmoid", sigmoid_values, .shape = "float32 [batch, 7]"},
    {"tanh", "tanh", tanh_values, .shape = "float32 [batch, 7]"},
    {"known relu", "relu", known_relu, .shape = "float32 [3]", .without_gradient = true,
     .expected = (const double[]){0, 0, 1}},
    {"known leaky_relu", "leaky_relu", known_leaky_relu, .shape = "float32 [3]",
     .without_gradient = true, .expected = (const double[]){-0.02, 0, 1}},
    {"known gelu", "gelu", known_gelu, .shape = "float32 [3]", .without_gradient = true,
     .expected = (const double[]){-0.04540230591, 0, 0.8411919906}},
    {"known silu", "silu", known_silu, .shape = "float32 [3]", .without_gradient = true,
     .expected = (const double[]){-0.2384058440, 0, 0.7310585786}},
    {"known sigmoid", "sigmoid", known_sigmoid, .shape = "float32 [3]", .without_gradient = true,
     .expected = (const double[]){0.1192029220, 0.5, 0.7310585786}},
    {"activations refuse integers", "relu", activated_integers, .error = "of type int32"},
    {"an unknown activation is refused", "relu", unknown_values, .error = "unknown activation 77"},
};

#endif
