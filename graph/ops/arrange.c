/*
 * graph/ops/arrange.c: operations that move elements: permute, concat, slice, pad. Integers:
 * permute has the order of the axes; the others the axis, then slice its first index, pad the
 * numbers of elements before and after; number 0 of pad is the value.
 */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/ops.h"

static enum tn_status infer_permute(const struct tn_graph *graph, struct node *node,
                                    struct error *error)
{
    const struct tn_shape *x = input_shape(graph, node, 0);
    const int64_t *order = node->attributes.integers;
    uint32_t seen = 0;
    node->types[0] = input_type(graph, node, 0);
    node->shapes[0].rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool valid = order[i] >= 0 && order[i] < x->rank && (seen >> order[i] & 1) == 0;
        if (!valid || (i == 0 && shape_has_batch(x) && order[0] != 0)) {
            return error_set(error, TN_EINVAL,
                             "axis %" PRId64 " at place %u of the order: give each axis once, and "
                             "the batch first",
                             order[i], i);
        }
        seen |= UINT32_C(1) << order[i];
        node->shapes[0].dims[i] = x->dims[order[i]];
    }
    return TN_OK;
}

static void gradient_of_permute(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                tn_tensor *dx)
{
    const struct node *node = node_of(graph, self);
    uint32_t inverse[TN_RANK_MAX];
    for (uint32_t i = 0; i < node->shapes[0].rank; i++) {
        inverse[node->attributes.integers[i]] = i;
    }
    dx[0] = tn_permute(graph, dy[0], inverse, node->shapes[0].rank);
}

const struct op_type op_permute = {
    .name = "permute",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_permute,
    .build_gradient = gradient_of_permute,
};

/* Whether `axis` is an axis of x along which elements may be taken. */
static enum tn_status check_axis(const struct tn_graph *graph, const struct node *node,
                                 struct error *error)
{
    const struct tn_shape *x = input_shape(graph, node, 0);
    int64_t axis = node->attributes.integers[0];
    if (axis >= 0 && axis < x->rank && !(axis == 0 && shape_has_batch(x))) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "axis %" PRId64 ": give one below the rank that is not the batch", axis);
}

static enum tn_status infer_concat(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    enum tn_status status = check_axis(graph, node, error);
    if (status != TN_OK) { return status; }
    int64_t axis = node->attributes.integers[0], size = 0;
    node->types[0] = input_type(graph, node, 0);
    node->shapes[0] = *input_shape(graph, node, 0);
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct tn_shape part = *input_shape(graph, node, i);
        if (part.rank > axis) {
            size += part.dims[axis];
            part.dims[axis] = node->shapes[0].dims[axis];
        }
        if (!shape_equal(&part, &node->shapes[0]) || input_type(graph, node, i) != node->types[0]) {
            return error_set(error, TN_EINVAL,
                             "part %u differs from part 0 in its type or in another axis than "
                             "%" PRId64 ": make them equal",
                             i, axis);
        }
    }
    node->shapes[0].dims[axis] = size;
    return TN_OK;
}

static void gradient_of_concat(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                               tn_tensor *dx)
{
    uint32_t axis = (uint32_t)node_of(graph, self)->attributes.integers[0];
    uint32_t count = node_of(graph, self)->input_count;
    int64_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t size = shape_of(graph, input_of(graph, self, i))->dims[axis];
        dx[i] = tn_slice(graph, dy[0], axis, first, size);
        first += size;
    }
}

const struct op_type op_concat = {
    .name = "concat",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = OP_INPUTS_MAX,
    .outputs = 1,
    .infer = infer_concat,
    .build_gradient = gradient_of_concat,
};

/* Integers: axis, first, count. */
static enum tn_status infer_slice(const struct tn_graph *graph, struct node *node,
                                  struct error *error)
{
    enum tn_status status = check_axis(graph, node, error);
    if (status != TN_OK) { return status; }
    const int64_t *integers = node->attributes.integers;
    int64_t size = input_shape(graph, node, 0)->dims[integers[0]];
    if (integers[1] < 0 || integers[2] < 1 || integers[2] > size ||
        integers[1] > size - integers[2]) {
        return error_set(error, TN_EINVAL,
                         "%" PRId64 " elements from %" PRId64 " on, but axis %" PRId64
                         " has %" PRId64 ": stay inside",
                         integers[2], integers[1], integers[0], size);
    }
    node->types[0] = input_type(graph, node, 0);
    node->shapes[0] = *input_shape(graph, node, 0);
    node->shapes[0].dims[integers[0]] = integers[2];
    return TN_OK;
}

static void gradient_of_slice(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                              tn_tensor *dx)
{
    const int64_t *integers = node_of(graph, self)->attributes.integers;
    uint32_t axis = (uint32_t)integers[0];
    int64_t size = shape_of(graph, input_of(graph, self, 0))->dims[axis];
    dx[0] = tn_pad(graph, dy[0], axis, integers[1], size - integers[1] - integers[2], 0);
}

const struct op_type op_slice = {
    .name = "slice",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_slice,
    .build_gradient = gradient_of_slice,
};

static enum tn_status infer_pad(const struct tn_graph *graph, struct node *node,
                                struct error *error)
{
    enum tn_status status = check_axis(graph, node, error);
    if (status == TN_OK) { status = check_float(graph, node, 0, error); }
    if (status != TN_OK) { return status; }
    const int64_t *integers = node->attributes.integers;
    for (uint32_t i = 1; i <= 2; i++) {
        if (integers[i] < 0 || integers[i] > SHAPE_ELEMENTS_MAX) {
            return error_set(error, TN_EINVAL, "%" PRId64 " elements of padding: give 0 or more",
                             integers[i]);
        }
    }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = *input_shape(graph, node, 0);
    node->shapes[0].dims[integers[0]] += integers[1] + integers[2];
    return TN_OK;
}

static void gradient_of_pad(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                            tn_tensor *dx)
{
    const int64_t *integers = node_of(graph, self)->attributes.integers;
    uint32_t axis = (uint32_t)integers[0];
    int64_t size = shape_of(graph, input_of(graph, self, 0))->dims[axis];
    dx[0] = tn_slice(graph, dy[0], axis, integers[1], size);
}

const struct op_type op_pad = {
    .name = "pad",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_pad,
    .build_gradient = gradient_of_pad,
};

tn_tensor tn_permute(struct tn_graph *graph, tn_tensor x, const uint32_t *order, uint32_t count)
{
    assert(order != NULL);
    struct attributes attributes = {0};
    if (!graph_failed(graph) && x.v != 0 && count != shape_of(graph, x)->rank) {
        return graph_fail(graph, TN_EINVAL, "permute: %u axes for a value of rank %u: give all",
                          count, shape_of(graph, x)->rank);
    }
    for (uint32_t i = 0; i < count && i < TN_RANK_MAX; i++) { attributes.integers[i] = order[i]; }
    return graph_add(graph, &op_permute, &x, 1, &attributes);
}

tn_tensor tn_concat(struct tn_graph *graph, const tn_tensor *parts, uint32_t count, uint32_t axis)
{
    assert(parts != NULL);
    struct attributes attributes = {.integers = {axis}};
    if (count == 0) { return graph_fail(graph, TN_EINVAL, "concat: give at least one part"); }
    /* More parts than a node has inputs: join what exists so far with the next ones. */
    tn_tensor joined[OP_INPUTS_MAX] = {parts[0]};
    for (uint32_t next = 1; next < count;) {
        uint32_t taken = 1;
        while (taken < OP_INPUTS_MAX && next < count) { joined[taken++] = parts[next++]; }
        joined[0] = graph_add(graph, &op_concat, joined, taken, &attributes);
    }
    return joined[0];
}

tn_tensor tn_slice(struct tn_graph *graph, tn_tensor x, uint32_t axis, int64_t first, int64_t count)
{
    struct attributes attributes = {.integers = {axis, first, count}};
    return graph_add(graph, &op_slice, &x, 1, &attributes);
}

tn_tensor tn_pad(struct tn_graph *graph, tn_tensor x, uint32_t axis, int64_t before, int64_t after,
                 float value)
{
    struct attributes attributes = {.integers = {axis, before, after}, .numbers = {(double)value}};
    if (!isfinite(value)) { return graph_fail(graph, TN_EINVAL, "pad: give a finite value"); }
    return graph_add(graph, &op_pad, &x, 1, &attributes);
}
