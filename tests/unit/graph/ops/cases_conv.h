/* Cases of graph/ops/conv.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_CONV_H
#define TESTS_UNIT_GRAPH_OPS_CASES_CONV_H

#include "tests/unit/support/op_cases.h"

static tn_tensor convolve(struct tn_graph *g, struct tn_shape weights, struct tn_window window,
                          uint32_t groups)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 5, 4, 4));
    return tn_conv2d(g, x, variable(g, "w", weights), window, groups);
}

static tn_tensor valid(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(3, 2, 4, 3), (struct tn_window){0}, 0);
}

static tn_tensor same(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(3, 3, 4, 2), (struct tn_window){.same = true}, 1);
}

static tn_tensor strided(struct tn_graph *g)
{
    struct tn_window window = {.stride_height = 2, .stride_width = 3, .same = true};
    return convolve(g, TN_SHAPE(3, 3, 4, 2), window, 1);
}

static tn_tensor one_by_one(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(1, 1, 4, 6), (struct tn_window){0}, 1);
}

static tn_tensor depthwise(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(3, 3, 1, 8), (struct tn_window){.same = true}, 4);
}

static tn_tensor grouped(struct tn_graph *g)
{
    struct tn_window window = {.top = 1, .right = 1, .stride_width = 2};
    return convolve(g, TN_SHAPE(2, 2, 2, 6), window, 2);
}

static tn_tensor known_convolution(struct tn_graph *g)
{
    const float image[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, weights[] = {1, 0, 0, -1};
    struct tn_view x = {TN_FLOAT32, TN_SHAPE(1, 3, 3, 1), (void *)(uintptr_t)image};
    struct tn_view w = {TN_FLOAT32, TN_SHAPE(2, 2, 1, 1), (void *)(uintptr_t)weights};
    struct tn_window window = {.top = 1};
    return tn_conv2d(g, tn_constant(g, x), tn_constant(g, w), window, 1);
}

static tn_tensor wrong_groups(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(3, 3, 2, 4), (struct tn_window){0}, 3);
}

static tn_tensor too_large_window(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(6, 3, 4, 4), (struct tn_window){0}, 1);
}

static tn_tensor other_window(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(3, 3, 4, 4), (struct tn_window){.height = 2}, 1);
}

static tn_tensor much_zero_padding(struct tn_graph *g)
{
    return convolve(g, TN_SHAPE(3, 3, 4, 4), (struct tn_window){.top = 3}, 1);
}

static tn_tensor not_an_image(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 5, 4));
    return tn_conv2d(g, x, variable(g, "w", TN_SHAPE(1, 1, 4, 4)), (struct tn_window){0}, 1);
}

static const struct op_case cases_conv[] = {
    {"conv2d", "conv2d", valid, .shape = "float32 [batch, 3, 3, 3]"},
    {"conv2d same", "conv2d", same, .shape = "float32 [batch, 5, 4, 2]"},
    {"conv2d with strides", "conv2d", strided, .shape = "float32 [batch, 3, 2, 2]"},
    {"conv2d 1x1", "conv2d", one_by_one, .shape = "float32 [batch, 5, 4, 6]"},
    {"conv2d depthwise", "conv2d", depthwise, .shape = "float32 [batch, 5, 4, 8]"},
    {"conv2d in groups", "conv2d", grouped, .shape = "float32 [batch, 5, 2, 6]"},
    {"known conv2d", "conv2d", known_convolution, .shape = "float32 [1, 3, 2, 1]",
     .without_gradient = true, .expected = (const double[]){-2, -3, -4, -4, -4, -4}},
    {"conv2d checks the groups", "conv2d", wrong_groups, .error = "4 channels in 3 groups"},
    {"conv2d refuses too large a window", "conv2d", too_large_window, .error = "at least 1"},
    {"conv2d refuses another window", "conv2d", other_window, .error = "leave both 0"},
    {"conv2d refuses much padding", "conv2d", much_zero_padding,
     .error = "padding must be smaller than the window"},
    {"conv2d refuses other ranks", "conv2d", not_an_image, .error = "[batch, height, width, "},
};

#endif
