/* Cases of graph/ops/regress.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_REGRESS_H
#define TESTS_UNIT_GRAPH_OPS_CASES_REGRESS_H

#include "tests/unit/support/op_cases.h"

/* Both sides have gradients. */
static tn_tensor outputs_of(struct tn_graph *g)
{
    return batch_value(g, "outputs", TN_SHAPE(TN_BATCH, 4));
}

static tn_tensor targets_of(struct tn_graph *g)
{
    return batch_value(g, "targets", TN_SHAPE(TN_BATCH, 4));
}

static tn_tensor squared(struct tn_graph *g)
{
    return tn_squared_error(g, outputs_of(g), targets_of(g));
}

static tn_tensor squared_numbers(struct tn_graph *g)
{
    return tn_squared_error(g, batch_value(g, "x", TN_SHAPE(TN_BATCH)),
                            tn_placeholder(g, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH)));
}

static tn_tensor absolute(struct tn_graph *g)
{
    return tn_absolute_error(g, outputs_of(g), targets_of(g));
}

static tn_tensor huber(struct tn_graph *g)
{
    return tn_huber_error(g, outputs_of(g), targets_of(g), 0.75F);
}

static tn_tensor sigmoid(struct tn_graph *g)
{
    return tn_sigmoid_cross_entropy(g, outputs_of(g), targets_of(g));
}

static tn_tensor unequal(struct tn_graph *g)
{
    return tn_squared_error(g, outputs_of(g), batch_value(g, "x", TN_SHAPE(TN_BATCH, 3)));
}

static tn_tensor without_batch(struct tn_graph *g)
{
    tn_tensor x = variable(g, "x", TN_SHAPE(4));
    return tn_absolute_error(g, x, x);
}

static tn_tensor huber_of_zero(struct tn_graph *g)
{
    return tn_huber_error(g, outputs_of(g), targets_of(g), 0);
}

/* Example 0 is (0 - x)^2 and so on, with x from a constant; the batch comes from a field of
 * zeros. */
static tn_tensor known_loss(struct tn_graph *g,
                            tn_tensor (*loss)(struct tn_graph *, tn_tensor, tn_tensor))
{
    const float values[] = {1, -1000};
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(2), (void *)(uintptr_t)values};
    tn_tensor field = tn_placeholder(g, "x", TN_UINT8, TN_SHAPE(TN_BATCH, 2));
    tn_tensor zeros = tn_cast(g, field, TN_FLOAT32, 0);
    return loss(g, tn_add(g, zeros, tn_constant(g, view)), zeros);
}

static tn_tensor known_squared(struct tn_graph *g)
{
    return known_loss(g, tn_squared_error);
}

static tn_tensor known_absolute(struct tn_graph *g)
{
    return known_loss(g, tn_absolute_error);
}

/* log(1 + e) and 0: no overflow. */
static tn_tensor known_sigmoid_loss(struct tn_graph *g)
{
    return known_loss(g, tn_sigmoid_cross_entropy);
}

static const struct op_case cases_regress[] = {
    {"squared_error", "squared_error", squared, .shape = "float32 [batch]"},
    {"squared_error of numbers", "squared_error", squared_numbers, .shape = "float32 [batch]"},
    {"absolute_error", "absolute_error", absolute, .shape = "float32 [batch]"},
    {"huber_error", "huber_error", huber, .shape = "float32 [batch]"},
    {"sigmoid_cross_entropy", "sigmoid_cross_entropy", sigmoid, .shape = "float32 [batch]"},
    {"known squared_error", "squared_error", known_squared, .shape = "float32 [batch]",
     .without_gradient = true, .expected = (const double[]){500000.5, 500000.5, 500000.5}},
    {"known absolute_error", "absolute_error", known_absolute, .shape = "float32 [batch]",
     .without_gradient = true, .expected = (const double[]){500.5, 500.5, 500.5}},
    {"known sigmoid_cross_entropy", "sigmoid_cross_entropy", known_sigmoid_loss,
     .shape = "float32 [batch]", .without_gradient = true,
     .expected = (const double[]){0.6566308438, 0.6566308438, 0.6566308438}},
    {"a loss compares equal shapes", "squared_error", unequal, .error = "must have one shape"},
    {"a loss has a batch", "absolute_error", without_batch, .error = "with the batch in front"},
    {"huber_error has a width", "huber_error", huber_of_zero, .error = "give one above 0"},
};

#endif
