/* Cases of graph/ops/matmul.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_MATMUL_H
#define TESTS_UNIT_GRAPH_OPS_CASES_MATMUL_H

#include "tests/unit/support/op_cases.h"

static tn_tensor dense(struct tn_graph *g)
{
    return tn_matmul(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 4)),
                     variable(g, "w", TN_SHAPE(4, 5)), false, false);
}

static tn_tensor dense_transposed(struct tn_graph *g)
{
    return tn_matmul(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 4)),
                     variable(g, "w", TN_SHAPE(5, 4)), false, true);
}

static tn_tensor product(struct tn_graph *g, bool ta, bool tb)
{
    struct tn_shape a = ta ? TN_SHAPE(TN_BATCH, 2, 4, 3) : TN_SHAPE(TN_BATCH, 2, 3, 4);
    struct tn_shape b = tb ? TN_SHAPE(TN_BATCH, 2, 5, 4) : TN_SHAPE(TN_BATCH, 2, 4, 5);
    return tn_matmul(g, batch_value(g, "a", a), batch_value(g, "b", b), ta, tb);
}

static tn_tensor batched(struct tn_graph *g)
{
    return product(g, false, false);
}

static tn_tensor batched_first(struct tn_graph *g)
{
    return product(g, true, false);
}

static tn_tensor batched_second(struct tn_graph *g)
{
    return product(g, false, true);
}

static tn_tensor batched_both(struct tn_graph *g)
{
    return product(g, true, true);
}

static tn_tensor shared(struct tn_graph *g)
{
    return tn_matmul(g, batch_value(g, "a", TN_SHAPE(TN_BATCH, 3, 4)),
                     variable(g, "w", TN_SHAPE(4, 2)), false, false);
}

static tn_tensor shared_both(struct tn_graph *g)
{
    return tn_matmul(g, batch_value(g, "a", TN_SHAPE(TN_BATCH, 4, 3)),
                     variable(g, "w", TN_SHAPE(2, 4)), true, true);
}

static tn_tensor known_product(struct tn_graph *g)
{
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, -1, 0, 2, 1, 1};
    struct tn_view left = {TN_FLOAT32, TN_SHAPE(2, 3), (void *)(uintptr_t)a};
    struct tn_view right = {TN_FLOAT32, TN_SHAPE(3, 2), (void *)(uintptr_t)b};
    return tn_matmul(g, tn_constant(g, left), tn_constant(g, right), false, false);
}

static tn_tensor inner_dimensions(struct tn_graph *g)
{
    return tn_matmul(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 784)),
                     variable(g, "w", TN_SHAPE(100, 10)), false, false);
}

static tn_tensor adds_up_examples(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 3));
    return tn_matmul(g, x, x, true, false);
}

static tn_tensor leading_dimensions(struct tn_graph *g)
{
    return tn_matmul(g, variable(g, "a", TN_SHAPE(2, 3, 4)), variable(g, "b", TN_SHAPE(3, 4, 5)),
                     false, false);
}

static const struct op_case cases_matmul[] = {
    {"matmul of a layer", "matmul", dense, .shape = "float32 [batch, 5]"},
    {"matmul of tied weights", "matmul", dense_transposed, .shape = "float32 [batch, 5]"},
    {"matmul batched", "matmul", batched, .shape = "float32 [batch, 2, 3, 5]"},
    {"matmul transposed first", "matmul", batched_first, .shape = "float32 [batch, 2, 3, 5]"},
    {"matmul transposed second", "matmul", batched_second, .shape = "float32 [batch, 2, 3, 5]"},
    {"matmul transposed both", "matmul", batched_both, .shape = "float32 [batch, 2, 3, 5]"},
    {"matmul with one matrix for all", "matmul", shared, .shape = "float32 [batch, 3, 2]"},
    {"matmul with one, both transposed", "matmul", shared_both, .shape = "float32 [batch, 3, 2]"},
    {"matmul of constants", "matmul", known_product, .shape = "float32 [2, 2]",
     .without_gradient = true, .expected = (const double[]){4, 6, 10, 12}},
    {"matmul refuses inner dimensions", "matmul", inner_dimensions,
     .error = "matmul(float32 [batch, 784], float32 [100, 10]): the inner dimensions are 784 and "
              "100: make them equal"},
    {"matmul does not add up examples", "matmul", adds_up_examples, .error = "add up the examples"},
    {"matmul refuses other leading dimensions", "matmul", leading_dimensions,
     .error = "before the last two differ"},
};

#endif
