/* Cases of graph/ops/arrange.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_ARRANGE_H
#define TESTS_UNIT_GRAPH_OPS_CASES_ARRANGE_H

#include "tests/unit/support/op_cases.h"

static tn_tensor permute_heads(struct tn_graph *g)
{
    return tn_permute(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 2, 3, 4)), (uint32_t[]){0, 2, 3, 1},
                      4);
}

static tn_tensor permute_matrix(struct tn_graph *g)
{
    const float values[] = {1, 2, 3, 4, 5, 6};
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(2, 3), (void *)(uintptr_t)values};
    return tn_permute(g, tn_constant(g, view), (uint32_t[]){1, 0}, 2);
}

static tn_tensor permute_batch(struct tn_graph *g)
{
    return tn_permute(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 2)), (uint32_t[]){1, 0}, 2);
}

static tn_tensor permute_too_few(struct tn_graph *g)
{
    return tn_permute(g, variable(g, "x", TN_SHAPE(2, 3)), (uint32_t[]){0}, 1);
}

static tn_tensor concat_middle(struct tn_graph *g)
{
    tn_tensor parts[] = {batch_value(g, "x", TN_SHAPE(TN_BATCH, 2, 3)),
                         batch_value(g, "y", TN_SHAPE(TN_BATCH, 1, 3))};
    return tn_concat(g, parts, 2, 1);
}

/* More parts than a node has inputs. */
static tn_tensor concat_many(struct tn_graph *g)
{
    tn_tensor parts[20];
    for (uint32_t i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "part%u", i);
        parts[i] = variable(g, name, TN_SHAPE(2, 1 + i % 3));
    }
    return tn_concat(g, parts, 20, 1);
}

static tn_tensor concat_unequal(struct tn_graph *g)
{
    tn_tensor parts[] = {variable(g, "x", TN_SHAPE(2, 3)), variable(g, "y", TN_SHAPE(3, 3))};
    return tn_concat(g, parts, 2, 1);
}

static tn_tensor slice_middle(struct tn_graph *g)
{
    return tn_slice(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 5, 2)), 1, 1, 3);
}

/* Integers: in another order, a part of them, and behind others. */
static tn_tensor integers_moved(struct tn_graph *g, enum tn_type type)
{
    tn_tensor x = tn_placeholder(g, "ids", type, TN_SHAPE(TN_BATCH, 2, 5));
    tn_tensor turned = tn_permute(g, x, (uint32_t[]){0, 2, 1}, 3);
    tn_tensor parts[] = {tn_slice(g, turned, 1, 1, 3), turned};
    tn_tensor y = tn_cast(g, tn_concat(g, parts, 2, 1), TN_FLOAT32, 1);
    return tn_multiply(g, y, variable(g, "w", TN_SHAPE(8, 2)));
}

static tn_tensor bytes_moved(struct tn_graph *g)
{
    return integers_moved(g, TN_UINT8);
}

static tn_tensor ints_moved(struct tn_graph *g)
{
    return integers_moved(g, TN_INT32);
}

static tn_tensor longs_moved(struct tn_graph *g)
{
    return integers_moved(g, TN_INT64);
}

static tn_tensor slice_outside(struct tn_graph *g)
{
    return tn_slice(g, variable(g, "x", TN_SHAPE(5)), 0, 3, 3);
}

static tn_tensor slice_batch(struct tn_graph *g)
{
    return tn_slice(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 5)), 0, 0, 1);
}

static tn_tensor pad_middle(struct tn_graph *g)
{
    return tn_pad(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3, 2)), 1, 2, 1, 0.5F);
}

static tn_tensor pad_below_zero(struct tn_graph *g)
{
    return tn_pad(g, variable(g, "x", TN_SHAPE(3)), 0, -1, 0, 0);
}

static const struct op_case cases_arrange[] = {
    {"permute", "permute", permute_heads, .shape = "float32 [batch, 3, 4, 2]"},
    {"permute of constants", "permute", permute_matrix, .shape = "float32 [3, 2]",
     .without_gradient = true, .expected = (const double[]){1, 4, 2, 5, 3, 6}},
    {"permute keeps the batch first", "permute", permute_batch, .error = "the batch first"},
    {"permute takes all axes", "permute", permute_too_few, .error = "1 axes for a value of rank 2"},
    {"concat", "concat", concat_middle, .shape = "float32 [batch, 3, 3]"},
    {"concat of many parts", "concat", concat_many, .shape = "float32 [2, 39]"},
    {"concat refuses other shapes", "concat", concat_unequal, .error = "part 1 differs"},
    {"slice", "slice", slice_middle, .shape = "float32 [batch, 3, 2]"},
    {"bytes move", "permute", bytes_moved, .shape = "float32 [batch, 8, 2]", .limit = 200},
    {"integers move", "slice", ints_moved, .shape = "float32 [batch, 8, 2]", .limit = 70000},
    {"long integers move", "concat", longs_moved, .shape = "float32 [batch, 8, 2]", .limit = 70000},
    {"slice stays inside", "slice", slice_outside, .error = "but axis 0 has 5"},
    {"slice leaves the batch alone", "slice", slice_batch, .error = "that is not the batch"},
    {"pad", "pad", pad_middle, .shape = "float32 [batch, 6, 2]"},
    {"pad takes no negative number", "pad", pad_below_zero, .error = "give 0 or more"},
};

#endif
