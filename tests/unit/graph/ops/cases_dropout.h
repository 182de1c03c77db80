/* Cases of graph/ops/dropout.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_DROPOUT_H
#define TESTS_UNIT_GRAPH_OPS_CASES_DROPOUT_H

#include "tests/unit/support/op_cases.h"

static tn_tensor drop(struct tn_graph *g)
{
    return tn_dropout(g, "drop", batch_value(g, "x", TN_SHAPE(TN_BATCH, 9)), 0.4F);
}

static tn_tensor drop_weights(struct tn_graph *g)
{
    return tn_dropout(g, "drop", variable(g, "x", TN_SHAPE(4, 5)), 0.25F);
}

static tn_tensor drop_nothing(struct tn_graph *g)
{
    return tn_dropout(g, "drop", batch_value(g, "x", TN_SHAPE(TN_BATCH, 9)), 0);
}

static tn_tensor drop_all(struct tn_graph *g)
{
    return tn_dropout(g, "drop", variable(g, "x", TN_SHAPE(4)), 1);
}

static tn_tensor drop_twice(struct tn_graph *g)
{
    tn_tensor x = variable(g, "x", TN_SHAPE(4));
    return tn_dropout(g, "drop", tn_dropout(g, "drop", x, 0.5F), 0.5F);
}

static const struct op_case cases_dropout[] = {
    {"dropout", "dropout", drop, .shape = "float32 [batch, 9]"},
    {"dropout of weights", "dropout", drop_weights, .shape = "float32 [4, 5]"},
    {"dropout of rate 0", "dropout", drop_nothing, .shape = "float32 [batch, 9]"},
    {"dropout keeps something", "dropout", drop_all, .error = "a rate of 1"},
    {"dropout has its own name", "dropout", drop_twice, .error = "dropout 'drop' exists"},
};

#endif
