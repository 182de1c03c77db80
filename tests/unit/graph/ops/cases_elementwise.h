/* Cases of graph/ops/elementwise.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_ELEMENTWISE_H
#define TESTS_UNIT_GRAPH_OPS_CASES_ELEMENTWISE_H

#include "tests/unit/support/op_cases.h"

static tn_tensor add_row(struct tn_graph *g)
{
    return tn_add(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 4)), variable(g, "b", TN_SHAPE(4)));
}

static tn_tensor add_same(struct tn_graph *g)
{
    tn_tensor x = variable(g, "x", TN_SHAPE(2, 3));
    return tn_add(g, x, x);
}

static tn_tensor subtract_column(struct tn_graph *g)
{
    return tn_subtract(g, variable(g, "x", TN_SHAPE(2, 3, 4)), variable(g, "y", TN_SHAPE(3, 1)));
}

static tn_tensor multiply_outer(struct tn_graph *g)
{
    return tn_multiply(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3, 1)),
                       variable(g, "y", TN_SHAPE(1, 4)));
}

static tn_tensor multiply_scalar(struct tn_graph *g)
{
    return tn_multiply(g, variable(g, "x", TN_SCALAR), batch_value(g, "y", TN_SHAPE(TN_BATCH, 2)));
}

static tn_tensor divide_values(struct tn_graph *g)
{
    tn_tensor divisor = tn_exp(g, variable(g, "y", TN_SHAPE(3)));
    return tn_divide(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3)), divisor);
}

static tn_tensor add_unequal(struct tn_graph *g)
{
    tn_scope_begin(g, "head");
    return tn_add(g, variable(g, "x", TN_SHAPE(2, 3)), variable(g, "y", TN_SHAPE(4)));
}

static tn_tensor add_integers(struct tn_graph *g)
{
    tn_tensor ids = tn_placeholder(g, "ids", TN_INT32, TN_SHAPE(TN_BATCH));
    return tn_add(g, ids, ids);
}

static const struct op_case cases_elementwise[] = {
    {"add repeats a row", "add", add_row, .shape = "float32 [batch, 4]"},
    {"add of a value to itself", "add", add_same, .shape = "float32 [2, 3]"},
    {"subtract repeats a column", "subtract", subtract_column, .shape = "float32 [2, 3, 4]"},
    {"multiply repeats both", "multiply", multiply_outer, .shape = "float32 [batch, 3, 4]"},
    {"multiply repeats a scalar", "multiply", multiply_scalar, .shape = "float32 [batch, 2]"},
    {"divide", "divide", divide_values, .shape = "float32 [batch, 3]"},
    {"add refuses unequal shapes", "add", add_unequal,
     .error = "scope 'head': add(float32 [2, 3], float32 [4]): the shapes do not fit"},
    {"add refuses integers", "add", add_integers, .error = "input 0 is of type int32"},
};

#endif
