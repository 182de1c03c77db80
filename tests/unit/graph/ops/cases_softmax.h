/* Cases of graph/ops/softmax.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_SOFTMAX_H
#define TESTS_UNIT_GRAPH_OPS_CASES_SOFTMAX_H

#include "tests/unit/support/op_cases.h"

static tn_tensor softmax_values(struct tn_graph *g)
{
    return tn_softmax(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 2, 5)));
}

/* Large numbers do not overflow. */
static tn_tensor known_softmax(struct tn_graph *g)
{
    const float values[] = {1000, 1000, 0, 0.6931472F};
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(2, 2), (void *)(uintptr_t)values};
    return tn_softmax(g, tn_constant(g, view));
}

static tn_tensor softmax_of_scalar(struct tn_graph *g)
{
    return tn_softmax(g, tn_scalar(g, 1));
}

static tn_tensor softmax_over_examples(struct tn_graph *g)
{
    return tn_softmax(g, batch_value(g, "x", TN_SHAPE(TN_BATCH)));
}

static const struct op_case cases_softmax[] = {
    {"softmax", "softmax", softmax_values, .shape = "float32 [batch, 2, 5]"},
    {"known softmax", "softmax", known_softmax, .shape = "float32 [2, 2]", .without_gradient = true,
     .expected = (const double[]){0.5, 0.5, 1.0 / 3, 2.0 / 3}},
    {"softmax refuses a scalar", "softmax", softmax_of_scalar, .error = "the value is a scalar"},
    {"softmax refuses the batch", "softmax", softmax_over_examples,
     .error = "the last dimension is the batch"},
};

#endif
