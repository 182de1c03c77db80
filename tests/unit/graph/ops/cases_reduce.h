/* Cases of graph/ops/reduce.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_REDUCE_H
#define TESTS_UNIT_GRAPH_OPS_CASES_REDUCE_H

#include "tests/unit/support/op_cases.h"

static tn_tensor sum_middle(struct tn_graph *g)
{
    return tn_sum(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3, 4, 2)), (uint32_t[]){1, 3}, 2);
}

/* Axes that are not neighbours. */
static tn_tensor sum_apart(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 3, 2, 4));
    return tn_sum(g, x, (uint32_t[]){1, 3}, 2);
}

static tn_tensor sum_all(struct tn_graph *g)
{
    return tn_sum(g, variable(g, "x", TN_SHAPE(3, 4)), (uint32_t[]){0, 1}, 2);
}

static tn_tensor sum_nothing(struct tn_graph *g)
{
    return tn_scale(g, tn_sum(g, variable(g, "x", TN_SHAPE(3, 4)), NULL, 0), 2);
}

static tn_tensor mean_last(struct tn_graph *g)
{
    return tn_mean(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3, 4)), (uint32_t[]){2}, 1);
}

static tn_tensor sum_of_examples(struct tn_graph *g)
{
    return tn_sum(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3)), (uint32_t[]){0}, 1);
}

static tn_tensor mean_of_axis_twice(struct tn_graph *g)
{
    return tn_mean(g, variable(g, "x", TN_SHAPE(2, 3)), (uint32_t[]){1, 1}, 2);
}

static tn_tensor known_mean(struct tn_graph *g)
{
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(2, 4), (void *)(uintptr_t)values};
    return tn_mean(g, tn_constant(g, view), (uint32_t[]){0}, 1);
}

static tn_tensor repeat(struct tn_graph *g)
{
    return broadcast_to(g, variable(g, "x", TN_SHAPE(3, 1)), &TN_SHAPE(2, 3, 4));
}

static tn_tensor repeat_wrongly(struct tn_graph *g)
{
    return broadcast_to(g, variable(g, "x", TN_SHAPE(3, 2)), &TN_SHAPE(2, 3, 4));
}

static const struct op_case cases_reduce[] = {
    {"sum of two axes", "sum", sum_middle, .shape = "float32 [batch, 4]"},
    {"sum of axes apart", "sum", sum_apart, .shape = "float32 [batch, 2]"},
    {"sum of all axes", "sum", sum_all, .shape = "float32 []"},
    {"sum of no axis", "sum", sum_nothing, .shape = "float32 [3, 4]"},
    {"mean", "sum", mean_last, .shape = "float32 [batch, 3]"},
    {"sum refuses the batch", "sum", sum_of_examples, .error = "axis 0 of float32 [batch, 3]"},
    {"mean refuses an axis twice", "sum", mean_of_axis_twice, .error = "each axis once"},
    {"mean of constants", "sum", known_mean, .shape = "float32 [4]", .without_gradient = true,
     .expected = (const double[]){3, 4, 5, 6}},
    {"broadcast", "broadcast", repeat, .shape = "float32 [2, 3, 4]"},
    {"broadcast refuses", "broadcast", repeat_wrongly, .error = "cannot be repeated"},
};

#endif
