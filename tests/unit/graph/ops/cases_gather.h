/* Cases of graph/ops/gather.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_GATHER_H
#define TESTS_UNIT_GRAPH_OPS_CASES_GATHER_H

#include "tests/unit/support/op_cases.h"

static tn_tensor ids_of(struct tn_graph *g, enum tn_type type)
{
    return tn_placeholder(g, "ids", type, TN_SHAPE(TN_BATCH, 4));
}

/* More ids than rows: some rows occur several times. */
static tn_tensor embed(struct tn_graph *g)
{
    return tn_gather(g, variable(g, "rows", TN_SHAPE(3, 2)), ids_of(g, TN_INT32));
}

static tn_tensor embed_numbers(struct tn_graph *g)
{
    return tn_gather(g, variable(g, "rows", TN_SHAPE(5)), ids_of(g, TN_UINT8));
}

static tn_tensor embed_floats(struct tn_graph *g)
{
    return tn_gather(g, variable(g, "rows", TN_SHAPE(3, 2)), ids_of(g, TN_FLOAT32));
}

static tn_tensor embed_of_batch(struct tn_graph *g)
{
    return tn_gather(g, batch_value(g, "rows", TN_SHAPE(TN_BATCH, 2)), ids_of(g, TN_INT64));
}

static tn_tensor known_rows(struct tn_graph *g)
{
    const float rows[] = {1, 2, 3, 4};
    const int64_t ids[] = {1, 0, 2, -1};
    struct tn_view a = {TN_FLOAT32, TN_SHAPE(2, 2), (void *)(uintptr_t)rows};
    struct tn_view b = {TN_INT64, TN_SHAPE(4), (void *)(uintptr_t)ids};
    return tn_gather(g, tn_constant(g, a), tn_constant(g, b));
}

static tn_tensor hot(struct tn_graph *g)
{
    tn_tensor x = tn_one_hot(g, ids_of(g, TN_INT64), 3);
    return tn_multiply(g, x, variable(g, "w", TN_SHAPE(3)));
}

static tn_tensor known_hot(struct tn_graph *g)
{
    const uint8_t ids[] = {1, 3};
    struct tn_view view = {TN_UINT8, TN_SHAPE(2), (void *)(uintptr_t)ids};
    return tn_one_hot(g, tn_constant(g, view), 3);
}

static tn_tensor hot_of_floats(struct tn_graph *g)
{
    return tn_one_hot(g, ids_of(g, TN_FLOAT32), 3);
}

static tn_tensor hot_of_depth_zero(struct tn_graph *g)
{
    return tn_one_hot(g, ids_of(g, TN_INT32), 0);
}

static tn_tensor pixels(struct tn_graph *g)
{
    tn_tensor x = tn_cast(g, ids_of(g, TN_UINT8), TN_FLOAT32, 1.0F / 255);
    return tn_multiply(g, x, variable(g, "w", TN_SHAPE(4)));
}

static tn_tensor cast_float(struct tn_graph *g)
{
    return tn_cast(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 3)), TN_FLOAT32, 2.5F);
}

static tn_tensor widen_ids(struct tn_graph *g)
{
    tn_tensor ids = tn_cast(g, ids_of(g, TN_UINT8), TN_INT32, 1);
    return tn_gather(g, variable(g, "rows", TN_SHAPE(3, 2)), tn_cast(g, ids, TN_INT64, 1));
}

static tn_tensor cast_to_scaled_integer(struct tn_graph *g)
{
    return tn_cast(g, ids_of(g, TN_FLOAT32), TN_INT32, 2);
}

static tn_tensor narrow_ids(struct tn_graph *g)
{
    return tn_cast(g, ids_of(g, TN_INT64), TN_INT32, 1);
}

/* Numbers out of range become -1. */
static tn_tensor known_whole(struct tn_graph *g)
{
    const float numbers[] = {2, 0, 16777215, -1, -0.5F, NAN, INFINITY, 0x1p31F};
    struct tn_view view = {TN_FLOAT32, TN_SHAPE(8), (void *)(uintptr_t)numbers};
    return tn_cast(g, tn_cast(g, tn_constant(g, view), TN_INT32, 1), TN_FLOAT32, 1);
}

static const struct op_case cases_gather[] = {
    {"gather", "gather", embed, .shape = "float32 [batch, 4, 2]"},
    {"gather of numbers", "gather", embed_numbers, .shape = "float32 [batch, 4]", .limit = 5},
    {"gather of known rows", "gather", known_rows, .shape = "float32 [4, 2]",
     .without_gradient = true, .expected = (const double[]){3, 4, 1, 2, NAN, NAN, NAN, NAN}},
    {"gather refuses floats as ids", "gather", embed_floats, .error = "give integers"},
    {"gather refuses a batch of rows", "gather", embed_of_batch, .error = "must be a variable"},
    {"one_hot", "one_hot", hot, .shape = "float32 [batch, 4, 3]"},
    {"known one_hot", "one_hot", known_hot, .shape = "float32 [2, 3]", .without_gradient = true,
     .expected = (const double[]){0, 1, 0, NAN, NAN, NAN}},
    {"one_hot refuses floats", "one_hot", hot_of_floats, .error = "give integers"},
    {"one_hot refuses depth 0", "one_hot", hot_of_depth_zero, .error = "at least 1"},
    {"cast of pixels", "cast", pixels, .shape = "float32 [batch, 4]"},
    {"cast of floats", "cast", cast_float, .shape = "float32 [batch, 3]"},
    {"cast of ids", "cast", widen_ids, .shape = "float32 [batch, 4, 2]"},
    {"cast of floats to ids", "cast", known_whole, .shape = "float32 [8]", .without_gradient = true,
     .expected = (const double[]){2, 0, 16777215, -1, -1, -1, -1, -1}},
    {"cast refuses to scale integers", "cast", cast_to_scaled_integer, .error = "is not possible"},
    {"cast refuses narrow integers", "cast", narrow_ids, .error = "is not possible"},
};

#endif
