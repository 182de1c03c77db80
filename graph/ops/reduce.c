/* graph/ops/reduce.c: sums over dimensions, and repetition, which is its gradient. */
#include <inttypes.h>

#include "graph/ops/ops.h"

static enum tn_status infer_sum(const struct tn_graph *graph, struct node *node,
                                struct error *error)
{
    enum tn_status status = check_float(graph, node, 0, error);
    if (status != TN_OK) { return status; }
    const struct tn_shape *x = input_shape(graph, node, 0);
    uint64_t axes = (uint64_t)node->attributes.integers[0];
    assert(axes < UINT64_C(1) << x->rank);
    struct tn_shape *out = &node->shapes[0];
    *out = (struct tn_shape){0};
    for (uint32_t i = 0; i < x->rank; i++) {
        if ((axes >> i & 1) == 0) { out->dims[out->rank++] = x->dims[i]; }
    }
    node->types[0] = TN_FLOAT32;
    return TN_OK;
}

static void gradient_of_sum(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                            tn_tensor *dx)
{
    struct tn_shape whole = *shape_of(graph, input_of(graph, self, 0)), kept = whole;
    uint64_t axes = (uint64_t)node_of(graph, self)->attributes.integers[0];
    for (uint32_t i = 0; i < kept.rank; i++) {
        if ((axes >> i & 1) != 0) { kept.dims[i] = 1; }
    }
    dx[0] = broadcast_to(graph, tn_reshape(graph, dy[0], kept), &whole);
}

static double flops_of_sum(const struct tn_graph *graph, const struct node *node)
{
    return (double)shape_elements(input_shape(graph, node, 0));
}

const struct op_type op_sum = {
    .name = "sum",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_sum,
    .build_gradient = gradient_of_sum,
    .flops = flops_of_sum,
};

static enum tn_status infer_broadcast(const struct tn_graph *graph, struct node *node,
                                      struct error *error)
{
    struct tn_shape fitted;
    enum tn_status status = check_float(graph, node, 0, error);
    if (status != TN_OK) { return status; }
    node->shapes[0] = node->attributes.shape;
    node->types[0] = TN_FLOAT32;
    if (shape_broadcast(input_shape(graph, node, 0), &node->shapes[0], &fitted) &&
        shape_equal(&fitted, &node->shapes[0])) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL, "the value cannot be repeated to the wanted shape");
}

static void gradient_of_broadcast(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                  tn_tensor *dx)
{
    struct tn_shape shape = *shape_of(graph, input_of(graph, self, 0));
    dx[0] = sum_to_shape(graph, dy[0], &shape);
}

const struct op_type op_broadcast = {
    .name = "broadcast",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_broadcast,
    .build_gradient = gradient_of_broadcast,
};

tn_tensor broadcast_to(struct tn_graph *graph, tn_tensor x, const struct tn_shape *shape)
{
    if (x.v == 0 || shape_equal(shape_of(graph, x), shape)) { return x; }
    struct attributes attributes = {.shape = *shape};
    return graph_add(graph, &op_broadcast, &x, 1, &attributes);
}

tn_tensor sum_over(struct tn_graph *graph, tn_tensor x, uint32_t axes)
{
    if (axes == 0) { return x; }
    struct attributes attributes = {.integers = {axes}};
    return graph_add(graph, &op_sum, &x, 1, &attributes);
}

tn_tensor sum_to_shape(struct tn_graph *graph, tn_tensor x, const struct tn_shape *shape)
{
    if (x.v == 0) { return TN_NONE; }
    struct tn_shape from = *shape_of(graph, x);
    uint32_t axes = 0;
    assert(shape->rank <= from.rank);
    uint32_t missing = from.rank - shape->rank;
    for (uint32_t i = 0; i < from.rank; i++) {
        bool repeated = i < missing || shape->dims[i - missing] != from.dims[i];
        axes |= repeated ? UINT32_C(1) << i : 0;
    }
    x = sum_over(graph, x, axes);
    return x.v == 0 || shape_equal(shape_of(graph, x), shape) ? x : tn_reshape(graph, x, *shape);
}

/* The bit set of public axes; 0: they are not valid, which is the graph's error. */
static uint32_t axes_of(struct tn_graph *graph, const char *function, tn_tensor x,
                        const uint32_t *axes, uint32_t count)
{
    if (graph_failed(graph) || x.v == 0) { return 0; }
    const struct tn_shape *shape = shape_of(graph, x);
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++) {
        char text[SHAPE_TEXT_MAX];
        bool is_batch = axes[i] == 0 && shape_has_batch(shape);
        if (axes[i] < shape->rank && !is_batch && (set >> axes[i] & 1) == 0) {
            set |= UINT32_C(1) << axes[i];
            continue;
        }
        graph_fail(graph, TN_EINVAL,
                   "%s: axis %u of %s: give each axis once, below the rank, and not the batch",
                   function, axes[i], shape_format(tn_type_of(graph, x), shape, text));
        return 0;
    }
    return set;
}

tn_tensor tn_sum(struct tn_graph *graph, tn_tensor x, const uint32_t *axes, uint32_t count)
{
    assert(axes != NULL || count == 0);
    uint32_t set = axes_of(graph, "sum", x, axes, count);
    return graph_failed(graph) ? TN_NONE : sum_over(graph, x, set);
}

tn_tensor tn_mean(struct tn_graph *graph, tn_tensor x, const uint32_t *axes, uint32_t count)
{
    assert(axes != NULL || count == 0);
    uint32_t set = axes_of(graph, "mean", x, axes, count);
    if (set == 0) { return graph_failed(graph) ? TN_NONE : x; }
    int64_t elements = 1;
    for (uint32_t i = 0; i < count; i++) { elements *= shape_of(graph, x)->dims[axes[i]]; }
    return tn_scale(graph, sum_over(graph, x, set), (float)(1.0 / (double)elements));
}
