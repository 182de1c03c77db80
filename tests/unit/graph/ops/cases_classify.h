/* Cases of graph/ops/classify.c. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_CLASSIFY_H
#define TESTS_UNIT_GRAPH_OPS_CASES_CLASSIFY_H

#include "tests/unit/support/op_cases.h"

static tn_tensor logits_of(struct tn_graph *g)
{
    return batch_value(g, "logits", TN_SHAPE(TN_BATCH, 5));
}

static tn_tensor labels_of(struct tn_graph *g)
{
    return tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
}

static tn_tensor classes(struct tn_graph *g)
{
    return tn_softmax_cross_entropy(g, logits_of(g), labels_of(g));
}

static tn_tensor smoothed(struct tn_graph *g)
{
    return tn_softmax_cross_entropy_smoothed(g, logits_of(g), labels_of(g), 0.1F);
}

/* One label per place of a text. */
static tn_tensor tokens(struct tn_graph *g)
{
    tn_tensor labels = tn_placeholder(g, "labels", TN_INT32, TN_SHAPE(TN_BATCH, 4));
    return tn_softmax_cross_entropy(g, batch_value(g, "x", TN_SHAPE(TN_BATCH, 4, 3)), labels);
}

static tn_tensor known_classes(struct tn_graph *g, float smoothing)
{
    const float logits[] = {0, 0.6931472F, 0, 0, 0, 0};
    const int32_t labels[] = {1, 7};
    struct tn_view a = {TN_FLOAT32, TN_SHAPE(2, 3), (void *)(uintptr_t)logits};
    struct tn_view b = {TN_INT32, TN_SHAPE(2), (void *)(uintptr_t)labels};
    struct attributes attributes = {.numbers = {(double)smoothing}};
    tn_tensor inputs[] = {tn_constant(g, a), tn_constant(g, b)};
    return tensor_of(tensor_node(graph_add(g, &op_softmax_cross_entropy, inputs, 2, &attributes)),
                     1);
}

static tn_tensor known_plain(struct tn_graph *g)
{
    return known_classes(g, 0);
}

static tn_tensor known_smoothed(struct tn_graph *g)
{
    return known_classes(g, 0.5F);
}

static tn_tensor known_correct(struct tn_graph *g)
{
    const float logits[] = {1, 3, 2, 5, 5, 1};
    const int32_t labels[] = {1, 1};
    struct tn_view a = {TN_FLOAT32, TN_SHAPE(2, 3), (void *)(uintptr_t)logits};
    struct tn_view b = {TN_INT32, TN_SHAPE(2), (void *)(uintptr_t)labels};
    return graph_add2(g, &op_is_correct, tn_constant(g, a), tn_constant(g, b));
}

static tn_tensor correct(struct tn_graph *g)
{
    tn_metric(g, "accuracy", tn_is_correct(g, logits_of(g), labels_of(g)));
    return classes(g);
}

static tn_tensor labels_of_other_shape(struct tn_graph *g)
{
    tn_tensor labels = tn_placeholder(g, "labels", TN_INT32, TN_SHAPE(TN_BATCH, 4));
    return tn_softmax_cross_entropy(g, logits_of(g), labels);
}

static tn_tensor float_labels(struct tn_graph *g)
{
    return tn_softmax_cross_entropy(g, logits_of(g), logits_of(g));
}

static tn_tensor smoothed_too_much(struct tn_graph *g)
{
    return tn_softmax_cross_entropy_smoothed(g, logits_of(g), labels_of(g), 1);
}

static const struct op_case cases_classify[] = {
    {"softmax_cross_entropy", "softmax_cross_entropy", classes, .shape = "float32 [batch]",
     .limit = 5},
    {"softmax_cross_entropy smoothed", "softmax_cross_entropy", smoothed,
     .shape = "float32 [batch]", .limit = 5},
    {"softmax_cross_entropy of tokens", "softmax_cross_entropy", tokens,
     .shape = "float32 [batch]"},
    {"known softmax_cross_entropy", "softmax_cross_entropy", known_plain, .shape = "float32 [2]",
     .without_gradient = true, .expected = (const double[]){0.6931471806, NAN}},
    /* log 4 - (0.5 + 0.5 / 3) log 2 */
    {"known smoothing", "softmax_cross_entropy", known_smoothed, .shape = "float32 [2]",
     .without_gradient = true, .expected = (const double[]){0.9241962407, NAN}},
    {"is_correct", "is_correct", correct, .shape = "float32 [batch]", .limit = 5},
    {"known is_correct", "is_correct", known_correct, .shape = "float32 [2]",
     .without_gradient = true, .expected = (const double[]){1, 0}},
    {"labels have the shape of the rows", "softmax_cross_entropy", labels_of_other_shape,
     .error = "the dimensions of the labels and then the classes"},
    {"labels are integers", "softmax_cross_entropy", float_labels, .error = "give integers"},
    {"smoothing is below 1", "softmax_cross_entropy", smoothed_too_much, .error = "one in [0, 1)"},
};

#endif
