/* Cases of graph/ops/retrieval.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_RETRIEVAL_H
#define TESTS_UNIT_GRAPH_OPS_CASES_RETRIEVAL_H

#include "tests/unit/support/op_cases.h"

static tn_tensor retrieval_weights(struct tn_graph *g)
{
    return tn_placeholder(g, "weights", TN_FLOAT32, TN_SHAPE(TN_BATCH));
}

static tn_tensor retrieval_loss(struct tn_graph *g)
{
    return tn_slice_softmax_cross_entropy(g, batch_value(g, "queries", TN_SHAPE(TN_BATCH, 5)),
                                          batch_value(g, "items", TN_SHAPE(TN_BATCH, 5)),
                                          retrieval_weights(g));
}

/* One tower on both sides: its gradients are added. */
static tn_tensor same_tower(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 4));
    return tn_slice_softmax_cross_entropy(g, x, x, retrieval_weights(g));
}

static tn_tensor recall(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 4));
    tn_tensor clicks = tn_placeholder(g, "clicks", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_metric(g, "recall", tn_slice_recall(g, x, x, tn_cast(g, clicks, TN_FLOAT32, 1)));
    return tn_slice_softmax_cross_entropy(g, x, x, retrieval_weights(g));
}

static tn_tensor matrix(struct tn_graph *g, int64_t rows, int64_t columns, const float *values)
{
    return tn_constant(
        g, (struct tn_view){TN_FLOAT32, TN_SHAPE(rows, columns), (void *)(uintptr_t)values});
}

static tn_tensor vector(struct tn_graph *g, int64_t count, const float *values)
{
    return tn_constant(g, (struct tn_view){TN_FLOAT32, TN_SHAPE(count), (void *)(uintptr_t)values});
}

/* The scores of the queries are (log 3, 0) and (log 7, 0). */
static const float known_queries[] = {1.0986123F, 1.9459101F}, known_items[] = {1, 0};

static tn_tensor known_retrieval(struct tn_graph *g)
{
    const float weights[] = {1, 0.5F};
    return tn_slice_softmax_cross_entropy(g, matrix(g, 2, 1, known_queries),
                                          matrix(g, 2, 1, known_items), vector(g, 2, weights));
}

/* The first query finds its item. */
static tn_tensor known_recall(struct tn_graph *g)
{
    const float weights[] = {3, 1};
    return tn_slice_recall(g, matrix(g, 2, 1, known_queries), matrix(g, 2, 1, known_items),
                           vector(g, 2, weights));
}

static tn_tensor recall_without_weight(struct tn_graph *g)
{
    const float weights[] = {0, 0};
    return tn_slice_recall(g, matrix(g, 2, 1, known_queries), matrix(g, 2, 1, known_items),
                           vector(g, 2, weights));
}

/* More queries than one block of scores, each of which has its own item: row i is item i. */
static tn_tensor blocks(struct tn_graph *g)
{
    enum { COUNT = 70 };
    float rows[COUNT * COUNT] = {0}, weights[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        rows[i * COUNT + i] = 9;
        weights[i] = i % 2 == 0 ? 1 : 0;
    }
    tn_tensor x = matrix(g, COUNT, COUNT, rows);
    return tn_sum(
        g, tn_reshape(g, tn_slice_recall(g, x, x, vector(g, COUNT, weights)), TN_SHAPE(1, COUNT)),
        (const uint32_t[]){1}, 1);
}

static tn_tensor towers_of_other_widths(struct tn_graph *g)
{
    return tn_slice_softmax_cross_entropy(g, batch_value(g, "queries", TN_SHAPE(TN_BATCH, 5)),
                                          batch_value(g, "items", TN_SHAPE(TN_BATCH, 4)),
                                          retrieval_weights(g));
}

static tn_tensor weights_of_other_shape(struct tn_graph *g)
{
    tn_tensor x = batch_value(g, "x", TN_SHAPE(TN_BATCH, 4));
    return tn_slice_recall(g, x, x, x);
}

static const struct op_case cases_retrieval[] = {
    {"slice_softmax_cross_entropy", "slice_softmax_cross_entropy", retrieval_loss,
     .shape = "float32 [batch]"},
    {"slice_softmax_cross_entropy of one tower", "slice_softmax_cross_entropy", same_tower,
     .shape = "float32 [batch]"},
    {"slice_recall", "is_retrieved", recall, .shape = "float32 [batch]"},
    /* log(4 / 3) and log 8 / 2 */
    {"known slice_softmax_cross_entropy", "slice_softmax_cross_entropy", known_retrieval,
     .shape = "float32 [2]", .without_gradient = true,
     .expected = (const double[]){0.2876820724, 1.0397207708}},
    {"known slice_recall", "is_retrieved", known_recall, .shape = "float32 [2]",
     .without_gradient = true, .expected = (const double[]){1.5, 0}},
    {"slice_recall without weights", "is_retrieved", recall_without_weight, .shape = "float32 [2]",
     .without_gradient = true, .expected = (const double[]){0, 0}},
    {"slice_recall of blocks", "is_retrieved", blocks, .shape = "float32 [1]",
     .without_gradient = true, .expected = (const double[]){70}},
    {"towers are equally wide", "slice_softmax_cross_entropy", towers_of_other_widths,
     .error = "end both towers with as many units"},
    {"weights are one for each query", "is_retrieved", weights_of_other_shape,
     .error = "the weights must be [batch]"},
};

#endif
