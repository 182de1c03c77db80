/* Cases of graph/ops/leaves.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_LEAVES_H
#define TESTS_UNIT_GRAPH_OPS_CASES_LEAVES_H

#include "tests/unit/support/op_cases.h"

static tn_tensor same_variable_twice(struct tn_graph *g)
{
    tn_scope_begin(g, "block");
    tn_tensor a = variable(g, "w", TN_SHAPE(2, 2)), b = variable(g, "w", TN_SHAPE(2, 2));
    tn_scope_end(g);
    return tn_add(g, a, b);
}

static tn_tensor variable_of_two_shapes(struct tn_graph *g)
{
    variable(g, "w", TN_SHAPE(2, 2));
    return variable(g, "w", TN_SHAPE(4));
}

static tn_tensor variable_with_batch(struct tn_graph *g)
{
    return variable(g, "w", TN_SHAPE(TN_BATCH, 2));
}

static tn_tensor field_without_batch(struct tn_graph *g)
{
    return tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(3, 2));
}

static tn_tensor field_of_integers(struct tn_graph *g)
{
    return tn_placeholder(g, "ids", TN_INT32, TN_SHAPE(TN_BATCH, 2));
}

static tn_tensor constant_of_two(struct tn_graph *g)
{
    const float values[] = {1.5F, -2};
    return tn_constant(g, (struct tn_view){TN_FLOAT32, TN_SHAPE(2), (void *)(uintptr_t)values});
}

static const struct op_case cases_leaves[] = {
    {"a name is one variable", "variable", same_variable_twice, .shape = "float32 [2, 2]"},
    {"a name has one shape", "variable", variable_of_two_shapes, .error = "use another name"},
    {"a variable has no batch", "variable", variable_with_batch, .error = "none of them TN_BATCH"},
    {"a field has a batch", "placeholder", field_without_batch, .error = "must be TN_BATCH"},
    {"a field of integers", "placeholder", field_of_integers, .shape = "int32 [batch, 2]",
     .without_gradient = true},
    {"a constant", "constant", constant_of_two, .shape = "float32 [2]", .without_gradient = true,
     .expected = (const double[]){1.5, -2}},
};

#endif
