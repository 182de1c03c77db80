/* Cases of graph/ops/reshape.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_RESHAPE_H
#define TESTS_UNIT_GRAPH_OPS_CASES_RESHAPE_H

#include "tests/unit/support/op_cases.h"

static tn_tensor flatten(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 3, 2));
    return tn_scale(g, tn_reshape(g, x, TN_SHAPE(TN_BATCH, 6)), 2);
}

static tn_tensor reshape_variable(struct tn_graph *g)
{
    return tn_reshape(g, variable(g, "x", TN_SHAPE(4, 3)), TN_SHAPE(2, 6));
}

static tn_tensor reshape_to_other_size(struct tn_graph *g)
{
    return tn_reshape(g, variable(g, "x", TN_SHAPE(4, 3)), TN_SHAPE(5, 2));
}

static tn_tensor reshape_without_batch(struct tn_graph *g)
{
    return tn_reshape(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3)), TN_SHAPE(3));
}

static tn_tensor stopped(struct tn_graph *g)
{
    tn_tensor x = variable(g, "x", TN_SHAPE(4));
    return tn_stop_gradient(g, tn_exp(g, x));
}

static const struct op_case cases_reshape[] = {
    {"reshape of a batch", "reshape", flatten, .shape = "float32 [batch, 6]"},
    {"reshape of a variable", "reshape", reshape_variable, .shape = "float32 [2, 6]"},
    {"reshape keeps the size", "reshape", reshape_to_other_size,
     .error = "float32 [5, 2] has another number of elements"},
    {"reshape keeps the batch", "reshape", reshape_without_batch, .error = "the batch in front"},
    {"stop_gradient", "stop_gradient", stopped, .shape = "float32 [4]", .without_gradient = true},
};

#endif
