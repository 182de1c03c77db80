/*
 * graph/ops/classify.c: losses and metrics of classifiers. Softmax cross entropy has logits
 * [..., classes] and integer labels [...]; number 0 is the label smoothing s: the wanted
 * distribution is (1 - s) one-hot + s / classes. A label out of range gives NaN.
 *
 * Its output 1 is the loss. Output 0 is for its gradient, which need not compute the exponentials
 * again: e = exp(x - most), or e times a factor for each row, by backend. It may be in the memory
 * of the logits.
 */
#include <inttypes.h>

#include "graph/ops/ops.h"

static enum tn_status infer_labelled(const struct tn_graph *graph, struct node *node,
                                     struct error *error)
{
    enum tn_status status = check_float(graph, node, 0, error);
    if (status == TN_OK) { status = check_integer(graph, node, 1, error); }
    if (status != TN_OK) { return status; }
    struct tn_shape rows = *input_shape(graph, node, 0);
    if (rows.rank >= 1) { rows.dims[--rows.rank] = 0; }
    if (rows.rank < 1 || !shape_equal(&rows, input_shape(graph, node, 1))) {
        return error_set(error, TN_EINVAL,
                         "the logits must have the dimensions of the labels and then the classes");
    }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = rows;
    return TN_OK;
}

enum { STATE, LOSS }; /* Outputs of softmax_cross_entropy. */

static enum tn_status infer_softmax_cross_entropy(const struct tn_graph *graph, struct node *node,
                                                  struct error *error)
{
    enum tn_status status = infer_labelled(graph, node, error);
    node->types[LOSS] = TN_FLOAT32;
    node->shapes[LOSS] = node->shapes[STATE];
    node->shapes[STATE] = *input_shape(graph, node, 0);
    return status;
}

static int64_t limit_of_labels(const struct tn_graph *graph, const struct node *node,
                               uint32_t input)
{
    return input == 1 ? shape_last(input_shape(graph, node, 0)) : 0;
}

static void gradient_of_softmax_cross_entropy(struct tn_graph *graph, tn_tensor self,
                                              const tn_tensor *dy, tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    tn_tensor inputs[] = {tensor_of(tensor_node(self), STATE), input_of(graph, self, 1), dy[LOSS]};
    dx[0] = graph_add(graph, &op_softmax_cross_entropy_gradient, inputs, 3, &attributes);
}

const struct op_type op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .version = 2,
    .traits = {.inplace = 1},
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 2,
    .infer = infer_softmax_cross_entropy,
    .build_gradient = gradient_of_softmax_cross_entropy,
    .index_limit = limit_of_labels,
};

static enum tn_status infer_logits(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    (void)error;
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = *input_shape(graph, node, 0);
    return TN_OK;
}

const struct op_type op_softmax_cross_entropy_gradient = {
    .name = "softmax_cross_entropy_gradient",
    .version = 2,
    .traits = {.inplace = 1},
    .inputs_min = 3,
    .inputs_max = 3,
    .outputs = 1,
    .infer = infer_logits,
};

const struct op_type op_is_correct = {
    .name = "is_correct",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_labelled,
    .index_limit = limit_of_labels,
};

/* The mean over all dimensions but the batch: [batch]. */
static tn_tensor mean_per_example(struct tn_graph *graph, tn_tensor x)
{
    static const uint32_t axes[] = {1, 2, 3, 4, 5};
    if (graph_failed(graph) || x.v == 0) { return TN_NONE; }
    uint32_t rank = shape_of(graph, x)->rank;
    return rank <= 1 ? x : tn_mean(graph, x, axes, rank - 1);
}

tn_tensor tn_softmax_cross_entropy_smoothed(struct tn_graph *graph, tn_tensor logits,
                                            tn_tensor labels, float smoothing)
{
    struct attributes attributes = {.numbers = {(double)smoothing}};
    if (!(smoothing >= 0 && smoothing < 1)) {
        return graph_fail(graph, TN_EINVAL,
                          "softmax_cross_entropy: a smoothing of %g: give one in [0, 1)",
                          (double)smoothing);
    }
    tn_tensor inputs[] = {logits, labels};
    tn_tensor state = graph_add(graph, &op_softmax_cross_entropy, inputs, 2, &attributes);
    return state.v == 0 ? TN_NONE : mean_per_example(graph, tensor_of(tensor_node(state), LOSS));
}

tn_tensor tn_softmax_cross_entropy(struct tn_graph *graph, tn_tensor logits, tn_tensor labels)
{
    return tn_softmax_cross_entropy_smoothed(graph, logits, labels, 0);
}

tn_tensor tn_is_correct(struct tn_graph *graph, tn_tensor logits, tn_tensor labels)
{
    return mean_per_example(graph, graph_add2(graph, &op_is_correct, logits, labels));
}
