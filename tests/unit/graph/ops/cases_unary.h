/* Cases of graph/ops/unary.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_UNARY_H
#define TESTS_UNIT_GRAPH_OPS_CASES_UNARY_H

#include "tests/unit/support/op_cases.h"

static tn_tensor any_value(struct tn_graph *g)
{
    return batch_value(g, "x", TN_SHAPE(TN_BATCH, 5));
}

static tn_tensor positive_value(struct tn_graph *g)
{
    return tn_add(g, tn_exp(g, any_value(g)), tn_scalar(g, 0.25F));
}

static tn_tensor scale_value(struct tn_graph *g)
{
    return tn_scale(g, any_value(g), -1.75F);
}

static tn_tensor scale_by_nan(struct tn_graph *g)
{
    return tn_scale(g, any_value(g), NAN);
}

static tn_tensor cube(struct tn_graph *g)
{
    return tn_power(g, any_value(g), 3);
}

static tn_tensor root_power(struct tn_graph *g)
{
    return tn_power(g, positive_value(g), 0.3F);
}

static tn_tensor square_root(struct tn_graph *g)
{
    return tn_sqrt(g, positive_value(g));
}

static tn_tensor exponential(struct tn_graph *g)
{
    return tn_exp(g, any_value(g));
}

static tn_tensor logarithm(struct tn_graph *g)
{
    return tn_log(g, positive_value(g));
}

static tn_tensor error_function(struct tn_graph *g)
{
    return tn_erf(g, any_value(g));
}

static tn_tensor known_erf(struct tn_graph *g)
{
    const float values[] = {-0.5F, 0, 2};
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(3), (void *)(uintptr_t)values};
    return tn_erf(g, tn_constant(g, view));
}

static tn_tensor clip_value(struct tn_graph *g)
{
    return tn_clip(g, any_value(g), -0.5F, 1);
}

static tn_tensor clip_constant(struct tn_graph *g)
{
    const float values[] = {-2, 0.5F, 3};
    return tn_clip(
        g, tn_constant(g, (struct tn_view){TN_FLOAT32, TN_SHAPE(3), (void *)(uintptr_t)values}), -1,
        1);
}

static tn_tensor clip_swapped(struct tn_graph *g)
{
    return tn_clip(g, any_value(g), 1, -1);
}

/* Both variables have the same gradient, so the program copies it. */
static tn_tensor two_equal_gradients(struct tn_graph *g)
{
    return tn_add(g, variable(g, "a", TN_SHAPE(4)), variable(g, "b", TN_SHAPE(4)));
}

static const struct op_case cases_unary[] = {
    {"scale", "scale", scale_value, .shape = "float32 [batch, 5]"},
    {"scale refuses NaN", "scale", scale_by_nan, .error = "give finite numbers"},
    {"power 3", "power", cube, .shape = "float32 [batch, 5]"},
    {"power 0.3", "power", root_power, .shape = "float32 [batch, 5]"},
    {"sqrt", "sqrt", square_root, .shape = "float32 [batch, 5]"},
    {"exp", "exp", exponential, .shape = "float32 [batch, 5]"},
    {"log", "log", logarithm, .shape = "float32 [batch, 5]"},
    {"erf", "erf", error_function, .shape = "float32 [batch, 5]"},
    {"known erf", "erf", known_erf, .shape = "float32 [3]", .without_gradient = true,
     .expected = (const double[]){-0.5204998778, 0, 0.9953222650}},
    {"clip", "clip", clip_value, .shape = "float32 [batch, 5]"},
    {"clip of constants", "clip", clip_constant, .shape = "float32 [3]", .without_gradient = true,
     .expected = (const double[]){-1, 0.5, 1}},
    {"clip refuses swapped limits", "clip", clip_swapped, .error = "swap them"},
    {"copy", "copy", two_equal_gradients, .shape = "float32 [4]"},
};

#endif
