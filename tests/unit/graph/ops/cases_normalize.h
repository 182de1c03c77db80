/* Cases of graph/ops/normalize.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_NORMALIZE_H
#define TESTS_UNIT_GRAPH_OPS_CASES_NORMALIZE_H

#include "tests/unit/support/op_cases.h"

static tn_tensor layer(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 3, 6));
    return tn_normalize_layer(g, x, variable(g, "gain", TN_SHAPE(6)),
                              variable(g, "bias", TN_SHAPE(6)), 1e-5F);
}

static tn_tensor batch(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 2, 3, 4));
    return tn_normalize_batch(g, "norm", x, variable(g, "gain", TN_SHAPE(4)),
                              variable(g, "bias", TN_SHAPE(4)), 0.9F, 1e-3F);
}

static tn_tensor constants(struct tn_graph *g, const float *values, int64_t count)
{
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(count), (void *)(uintptr_t)values};
    return tn_constant(g, view);
}

static tn_tensor known_layer(struct tn_graph *g)
{
    const float values[] = {1, 3, -4, 4}, gain[] = {1, 2}, bias[] = {0, 10};
    tn_tensor x = tn_reshape(g, constants(g, values, 4), TN_SHAPE(2, 2));
    return tn_normalize_layer(g, x, constants(g, gain, 2), constants(g, bias, 2), 1e-12F);
}

static tn_tensor gain_of_other_width(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 6));
    return tn_normalize_layer(g, x, variable(g, "gain", TN_SHAPE(5)),
                              variable(g, "bias", TN_SHAPE(6)), 1e-5F);
}

static tn_tensor without_epsilon(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 6)), v = variable(g, "v", TN_SHAPE(6));
    return tn_normalize_layer(g, x, v, v, 0);
}

static tn_tensor two_of_one_name(struct tn_graph *g)
{
    batch(g);
    return batch(g);
}

static tn_tensor batch_of_vector(struct tn_graph *g)
{
    tn_tensor x = variable(g, "x", TN_SHAPE(6)), v = variable(g, "v", TN_SHAPE(6));
    return tn_normalize_batch(g, "norm", x, v, v, 0.9F, 1e-3F);
}

static const struct op_case cases_normalize[] = {
    {"layer_norm", "layer_norm", layer, .shape = "float32 [batch, 3, 6]"},
    {"batch_norm", "batch_norm", batch, .shape = "float32 [batch, 2, 3, 4]"},
    {"slice_moment", "slice_moment", batch, .shape = "float32 [batch, 2, 3, 4]"},
    {"known layer_norm", "layer_norm", known_layer, .shape = "float32 [2, 2]",
     .without_gradient = true, .expected = (const double[]){-1, 12, -1, 12}},
    {"layer_norm checks the widths", "layer_norm", gain_of_other_width,
     .error = "input 1 must be a vector of 6 elements"},
    {"layer_norm needs an epsilon", "layer_norm", without_epsilon, .error = "give one above 0"},
    {"batch_norm has its own name", "batch_norm", two_of_one_name,
     .error = "batch_norm 'norm' exists"},
    {"batch_norm refuses a vector", "batch_norm", batch_of_vector,
     .error = "at least 2 dimensions"},
};

#endif
