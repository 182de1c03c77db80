/*
 * graph/ops/attention.c: scaled dot-product attention (Vaswani et al. 2017) of [batch][heads][time]
 * [width]: y = softmax(scale q k^T) v. Integer 0: causal, query t sees keys 0..t; number 0: scale.
 * Output 1 is the probabilities [batch][heads][query][key], 0 for keys that are not seen, which the
 * gradient reads: to keep them costs memory, to compute them again a third of the gradient's time.
 */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/ops.h"

static enum tn_status infer_attention(const struct tn_graph *graph, struct node *node,
                                      struct error *error)
{
    const struct tn_shape *shapes[3];
    for (uint32_t i = 0; i < 3; i++) {
        enum tn_status status = check_float(graph, node, i, error);
        if (status != TN_OK) { return status; }
        shapes[i] = input_shape(graph, node, i);
    }
    const struct tn_shape *q = shapes[0], *k = shapes[1], *v = shapes[2];
    bool fits = q->rank == 4 && k->rank == 4 && v->rank == 4;
    for (uint32_t i = 0; i < 2 && fits; i++) {
        fits = q->dims[i] == k->dims[i] && k->dims[i] == v->dims[i];
    }
    bool causal = node->attributes.integers[0] != 0;
    if (!fits || q->dims[3] != k->dims[3] || k->dims[2] != v->dims[2] ||
        (causal && q->dims[2] != k->dims[2])) {
        return error_set(error, TN_EINVAL,
                         "queries, keys and values must be [batch, heads, time, width] with equal "
                         "batch and heads, queries and keys of one width, keys and values of one "
                         "time, and all of one time if causal");
    }
    node->shapes[0] = *q;
    node->shapes[0].dims[3] = v->dims[3];
    node->shapes[1] = *q;
    node->shapes[1].dims[3] = v->dims[2];
    node->types[0] = TN_FLOAT32;
    node->types[1] = TN_FLOAT32;
    return TN_OK;
}

static void gradient_of_attention(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                  tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    tn_tensor inputs[] = {
        input_of(graph, self, 0),
        input_of(graph, self, 1),
        input_of(graph, self, 2),
        tensor_of(tensor_node(self), 1),
        dy[0],
    };
    tn_tensor gradient = graph_add(graph, &op_attention_gradient, inputs, 5, &attributes);
    if (gradient.v == 0) { return; }
    for (uint32_t i = 0; i < 3; i++) { dx[i] = tensor_of(tensor_node(gradient), i); }
}

static enum tn_status infer_attention_gradient(const struct tn_graph *graph, struct node *node,
                                               struct error *error)
{
    (void)error;
    for (uint32_t i = 0; i < 3; i++) {
        node->shapes[i] = *input_shape(graph, node, i);
        node->types[i] = TN_FLOAT32;
    }
    return TN_OK;
}

static double flops_of_attention(const struct tn_graph *graph, const struct node *node)
{
    const struct tn_shape *q = input_shape(graph, node, 0), *v = input_shape(graph, node, 2);
    double queries = (double)shape_elements(q) / (double)q->dims[3];
    return 2 * queries * (double)v->dims[2] * (double)(q->dims[3] + v->dims[3]);
}

/* Four products where the forward pass has two. */
static double flops_of_attention_gradient(const struct tn_graph *graph, const struct node *node)
{
    return 2 * flops_of_attention(graph, node);
}

const struct op_type op_attention = {
    .name = "attention",
    .version = 2,
    .inputs_min = 3,
    .inputs_max = 3,
    .outputs = 2,
    .infer = infer_attention,
    .build_gradient = gradient_of_attention,
    .flops = flops_of_attention,
};

const struct op_type op_attention_gradient = {
    .name = "attention_gradient",
    .version = 2,
    .inputs_min = 5,
    .inputs_max = 5,
    .outputs = 3,
    .infer = infer_attention_gradient,
    .flops = flops_of_attention_gradient,
};

tn_tensor tn_attention(struct tn_graph *graph, tn_tensor q, tn_tensor k, tn_tensor v, bool causal,
                       float scale)
{
    if (!(scale >= 0 && isfinite(scale))) {
        return graph_fail(graph, TN_EINVAL, "attention: a scale of %g: give 0 or more",
                          (double)scale);
    }
    if (scale == 0 && !graph_failed(graph) && q.v != 0) {
        scale = 1 / sqrtf((float)shape_last(shape_of(graph, q)));
    }
    struct attributes attributes = {.integers = {causal}, .numbers = {(double)scale}};
    return graph_add(graph, &op_attention, (tn_tensor[]){q, k, v}, 3, &attributes);
}
