/*
 * graph/ops/retrieval.c: softmax within a slice. Queries and items are vectors [batch][width]; the
 * score of a pair is their dot product. The item of its own example is the right one for a query,
 * those of the other examples of the slice are wrong ones. No operation reads beyond the slice, so
 * that its gradient stays a function of the slice (rule A4).
 *
 * The scores of all pairs are computed again for the gradient: they would be the largest value of
 * the graph.
 */
#include <float.h>

#include "graph/ops/ops.h"

static enum tn_status check_pairs(const struct tn_graph *graph, const struct node *node,
                                  struct error *error)
{
    enum tn_status status = check_float(graph, node, 0, error);
    if (status == TN_OK) { status = check_float(graph, node, 1, error); }
    if (status != TN_OK) { return status; }
    const struct tn_shape *queries = input_shape(graph, node, 0);
    if (queries->rank == 2 && shape_equal(queries, input_shape(graph, node, 1))) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "queries and items must both be [batch][width], and equally wide: end both "
                     "towers with as many units");
}

static enum tn_status infer_loss(const struct tn_graph *graph, struct node *node,
                                 struct error *error)
{
    enum tn_status status = check_pairs(graph, node, error);
    if (status != TN_OK) { return status; }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = TN_SHAPE(input_shape(graph, node, 0)->dims[0]);
    return TN_OK;
}

static void gradient_of_loss(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                             tn_tensor *dx)
{
    if (dy[0].v == 0) { return; }
    tn_tensor inputs[] = {input_of(graph, self, 0), input_of(graph, self, 1), dy[0]};
    const struct attributes none = {.type = 0};
    tn_tensor gradient =
        graph_add(graph, &op_slice_softmax_cross_entropy_gradient, inputs, 3, &none);
    if (gradient.v == 0) { return; }
    for (uint32_t i = 0; i < 2; i++) { dx[i] = tensor_of(tensor_node(gradient), i); }
}

/* Products of all pairs of rows, `times` times. */
static double flops_of_pairs(const struct tn_graph *graph, const struct node *node, double times)
{
    const struct tn_shape *queries = input_shape(graph, node, 0);
    return times * 2 * (double)queries->dims[0] * (double)shape_elements(queries);
}

static double flops_of_loss(const struct tn_graph *graph, const struct node *node)
{
    return flops_of_pairs(graph, node, 1);
}

const struct op_type op_slice_softmax_cross_entropy = {
    .name = "slice_softmax_cross_entropy",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_loss,
    .build_gradient = gradient_of_loss,
    .flops = flops_of_loss,
};

static enum tn_status infer_gradient(const struct tn_graph *graph, struct node *node,
                                     struct error *error)
{
    (void)error;
    for (uint32_t o = 0; o < 2; o++) {
        node->types[o] = TN_FLOAT32;
        node->shapes[o] = *input_shape(graph, node, o);
    }
    return TN_OK;
}

static double flops_of_gradient(const struct tn_graph *graph, const struct node *node)
{
    return flops_of_pairs(graph, node, 3);
}

const struct op_type op_slice_softmax_cross_entropy_gradient = {
    .name = "slice_softmax_cross_entropy_gradient",
    .version = 1,
    .inputs_min = 3,
    .inputs_max = 3,
    .outputs = 2,
    .infer = infer_gradient,
    .flops = flops_of_gradient,
};

const struct op_type op_is_retrieved = {
    .name = "is_retrieved",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_loss,
    .flops = flops_of_loss,
};

tn_tensor tn_slice_softmax_cross_entropy(struct tn_graph *graph, tn_tensor queries, tn_tensor items,
                                         tn_tensor weights)
{
    tn_tensor loss = graph_add2(graph, &op_slice_softmax_cross_entropy, queries, items);
    return tn_multiply(graph, loss, weights);
}

/* The weights as shares of their mean over the slice; zeros if all are 0. */
static tn_tensor shares_of(struct tn_graph *graph, tn_tensor weights)
{
    tn_tensor count = sum_over(graph, tn_clip(graph, weights, 1, 1), 1);
    tn_tensor total = tn_clip(graph, sum_over(graph, weights, 1), 1e-20F, FLT_MAX);
    return tn_multiply(graph, weights, tn_divide(graph, count, total));
}

tn_tensor tn_slice_recall(struct tn_graph *graph, tn_tensor queries, tn_tensor items,
                          tn_tensor weights)
{
    if (graph_failed(graph) || weights.v == 0) { return TN_NONE; }
    if (shape_of(graph, weights)->rank != 1) {
        return graph_fail(graph, TN_EINVAL,
                          "slice_recall: the weights must be [batch], one for each query");
    }
    tn_tensor found = graph_add2(graph, &op_is_retrieved, queries, items);
    return tn_multiply(graph, found, shares_of(graph, weights));
}
