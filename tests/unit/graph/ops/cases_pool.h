/* Cases of graph/ops/pool.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_POOL_H
#define TESTS_UNIT_GRAPH_OPS_CASES_POOL_H

#include "tests/unit/support/op_cases.h"

static tn_tensor image(struct tn_graph *g)
{
    return batch_value(g, "x", TN_SHAPE(TN_BATCH, 5, 4, 2));
}

static tn_tensor max_two(struct tn_graph *g)
{
    struct tn_window window = {.height = 2, .width = 2, .stride_height = 2, .stride_width = 2};
    return tn_max_pool(g, image(g), window);
}

/* Windows overlap, so gradients meet. */
static tn_tensor max_same(struct tn_graph *g)
{
    return tn_max_pool(g, image(g), (struct tn_window){.height = 3, .width = 3, .same = true});
}

static tn_tensor mean_same(struct tn_graph *g)
{
    struct tn_window window = {.height = 3, .width = 2, .stride_height = 2, .same = true};
    return tn_mean_pool(g, image(g), window);
}

static tn_tensor global_max(struct tn_graph *g)
{
    return tn_global_max_pool(g, image(g));
}

static tn_tensor global_mean(struct tn_graph *g)
{
    return tn_global_mean_pool(g, image(g));
}

static tn_tensor known_image(struct tn_graph *g)
{
    static const float pixels[] = {1, 2, 3, 4, 9, 6, 7, 8, 5};
    struct tn_view x = {TN_FLOAT32, TN_SHAPE(1, 3, 3, 1), (void *)(uintptr_t)pixels};
    return tn_constant(g, x);
}

static tn_tensor known_max_pool(struct tn_graph *g)
{
    struct tn_window window = {.height = 2, .width = 2, .stride_height = 2, .top = 1};
    return tn_max_pool(g, known_image(g), window);
}

static tn_tensor known_mean_pool(struct tn_graph *g)
{
    struct tn_window window = {.height = 2, .width = 2, .stride_height = 2, .top = 1};
    return tn_mean_pool(g, known_image(g), window);
}

static tn_tensor too_large(struct tn_graph *g)
{
    return tn_max_pool(g, image(g), (struct tn_window){.height = 6});
}

static tn_tensor much_padding(struct tn_graph *g)
{
    return tn_mean_pool(g, image(g), (struct tn_window){.height = 2, .bottom = 2});
}

static tn_tensor global_of_vector(struct tn_graph *g)
{
    return tn_global_mean_pool(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3)));
}

static const struct op_case cases_pool[] = {
    {"max_pool", "max_pool", max_two, .shape = "float32 [batch, 2, 2, 2]"},
    {"max_pool same", "max_pool", max_same, .shape = "float32 [batch, 5, 4, 2]"},
    {"mean_pool", "mean_pool", mean_same, .shape = "float32 [batch, 3, 4, 2]"},
    {"global max_pool", "max_pool", global_max, .shape = "float32 [batch, 2]"},
    {"global mean_pool", "mean_pool", global_mean, .shape = "float32 [batch, 2]"},
    {"known max_pool", "max_pool", known_max_pool, .shape = "float32 [1, 2, 2, 1]",
     .without_gradient = true, .expected = (const double[]){2, 3, 9, 9}},
    {"known mean_pool", "mean_pool", known_mean_pool, .shape = "float32 [1, 2, 2, 1]",
     .without_gradient = true, .expected = (const double[]){1.5, 2.5, 7, 7}},
    {"max_pool refuses too large a window", "max_pool", too_large, .error = "at least 1"},
    {"mean_pool refuses much padding", "mean_pool", much_padding,
     .error = "padding must be smaller"},
    {"global pooling refuses vectors", "mean_pool", global_of_vector,
     .error = "mean_pool: the images must have the shape"},
};

#endif
