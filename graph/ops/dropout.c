/*
 * graph/ops/dropout.c: dropout (Srivastava et al. 2014), scaled in training. Integer 0 is the hash
 * of the path, which selects the random numbers (rule A11), integer 1 whether x has the batch in
 * front; number 0 is the rate. The gradient is the same operation on dy: it draws the same numbers.
 */
#include <string.h>
#include <xxhash.h>

#include "graph/ops/ops.h"

static void gradient_of_dropout(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    dx[0] = graph_add(graph, &op_dropout, dy, 1, &attributes);
}

static tn_tensor evaluate_dropout(struct tn_graph *graph, const struct node *self)
{
    (void)graph;
    return self->inputs[0];
}

const struct op_type op_dropout = {
    .name = "dropout",
    .version = 1,
    .traits = {.varies = true, .inplace = 1},
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_like_input,
    .build_gradient = gradient_of_dropout,
    .build_evaluation = evaluate_dropout,
};

tn_tensor tn_dropout(struct tn_graph *graph, const char *name, tn_tensor x, float rate)
{
    const char *path = graph_path(graph, name);
    if (path == NULL) { return TN_NONE; }
    if (!(rate >= 0 && rate < 1)) {
        return graph_fail(graph, TN_EINVAL, "dropout '%s': a rate of %g: give one in [0, 1)", path,
                          (double)rate);
    }
    if (graph_find(graph, &op_dropout, path).v != 0) {
        return graph_fail(graph, TN_EEXIST,
                          "dropout '%s' exists: give each its own name, or they drop the same "
                          "elements",
                          path);
    }
    struct attributes attributes = {
        .integers = {(int64_t)XXH3_64bits(path, strlen(path)),
                     x.v != 0 && shape_has_batch(shape_of(graph, x))},
        .numbers = {(double)rate},
        .name = path,
    };
    return graph_add(graph, &op_dropout, &x, 1, &attributes);
}
