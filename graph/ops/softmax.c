/* graph/ops/softmax.c: softmax over the last dimension. */
#include "graph/ops/ops.h"

static void gradient_of_softmax(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                tn_tensor *dx)
{
    dx[0] = graph_add2(graph, &op_softmax_gradient, self, dy[0]);
}

const struct op_type op_softmax = {
    .name = "softmax",
    .version = 1,
    .traits = {.inplace = 1},
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_like_input,
    .build_gradient = gradient_of_softmax,
};

const struct op_type op_softmax_gradient = {
    .name = "softmax_gradient",
    .version = 1,
    .traits = {.inplace = 3},
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_like_input,
};

tn_tensor tn_softmax(struct tn_graph *graph, tn_tensor x)
{
    if (!graph_failed(graph) && x.v != 0 && shape_of(graph, x)->rank < 1) {
        return graph_fail(graph, TN_EINVAL, "softmax: the value is a scalar: give a vector");
    }
    if (!graph_failed(graph) && x.v != 0 && shape_last(shape_of(graph, x)) == TN_BATCH) {
        return graph_fail(graph, TN_EINVAL,
                          "softmax: the last dimension is the batch: an example's "
                          "result must not depend on the others");
    }
    return graph_add1(graph, &op_softmax, x);
}
