/* Cases of graph/ops/attention.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_ATTENTION_H
#define TESTS_UNIT_GRAPH_OPS_CASES_ATTENTION_H

#include "tests/unit/support/op_cases.h"

static tn_tensor attend(struct tn_graph *g, int64_t queries, int64_t keys, bool causal)
{
    return tn_attention(g, batch_value(g, "q", TN_SHAPE(TN_BATCH, 2, queries, 3)),
                        batch_value(g, "k", TN_SHAPE(TN_BATCH, 2, keys, 3)),
                        batch_value(g, "v", TN_SHAPE(TN_BATCH, 2, keys, 5)), causal, 0);
}

static tn_tensor whole(struct tn_graph *g)
{
    return attend(g, 4, 6, false);
}

static tn_tensor causal(struct tn_graph *g)
{
    return attend(g, 5, 5, true);
}

/* The same by softmax and matmul. */
static tn_tensor difference_from_parts(struct tn_graph *g)
{
    tn_tensor q = batch_value(g, "q", TN_SHAPE(TN_BATCH, 2, 4, 3));
    tn_tensor k = batch_value(g, "k", TN_SHAPE(TN_BATCH, 2, 4, 3));
    tn_tensor v = batch_value(g, "v", TN_SHAPE(TN_BATCH, 2, 4, 3));
    tn_tensor scores = tn_scale(g, tn_matmul(g, q, k, false, true), 0.7F);
    tn_tensor y = tn_matmul(g, tn_softmax(g, scores), v, false, false);
    return tn_subtract(g, tn_attention(g, q, k, v, false, 0.7F), y);
}

static tn_tensor known_causal(struct tn_graph *g)
{
    const float q[] = {0, 0}, v[] = {2, 4};
    struct tn_view a = {TN_FLOAT32, TN_SHAPE(1, 1, 2, 1), (void *)(uintptr_t)q};
    struct tn_view b = {TN_FLOAT32, TN_SHAPE(1, 1, 2, 1), (void *)(uintptr_t)v};
    return tn_attention(g, tn_constant(g, a), tn_constant(g, a), tn_constant(g, b), true, 0);
}

static tn_tensor causal_of_other_time(struct tn_graph *g)
{
    return attend(g, 4, 5, true);
}

static tn_tensor negative_scale(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "q", TN_SHAPE(TN_BATCH, 2, 4, 3));
    return tn_attention(g, x, x, x, false, -1);
}

static const struct op_case cases_attention[] = {
    {"attention", "attention", whole, .shape = "float32 [batch, 2, 4, 5]"},
    {"attention, causal", "attention", causal, .shape = "float32 [batch, 2, 5, 5]"},
    {"attention and its parts", "attention", difference_from_parts,
     .shape = "float32 [batch, 2, 4, 3]"},
    {"known attention", "attention", known_causal, .shape = "float32 [1, 1, 2, 1]",
     .without_gradient = true, .expected = (const double[]){2, 3}},
    {"causal attention has one time", "attention", causal_of_other_time,
     .error = "all of one time if causal"},
    {"attention refuses a negative scale", "attention", negative_scale, .error = "0 or more"},
};

#endif
