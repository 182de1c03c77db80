/*
 * graph/ops/gather.c: values from integers: rows of a table, one-hot vectors, casts. An id out of
 * range comes from the data; it gives NaN, which the loss then shows.
 */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/ops.h"

enum tn_status check_integer(const struct tn_graph *graph, const struct node *node, uint32_t input,
                             struct error *error)
{
    enum tn_type type = input_type(graph, node, input);
    if (type == TN_INT32 || type == TN_INT64 || type == TN_UINT8) { return TN_OK; }
    return error_set(error, TN_EINVAL, "input %u is of type %s: give integers", input,
                     type_name(type));
}

static enum tn_status infer_gather(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    const struct tn_shape *rows = input_shape(graph, node, 0), *ids = input_shape(graph, node, 1);
    enum tn_status status = check_float(graph, node, 0, error);
    if (status == TN_OK) { status = check_integer(graph, node, 1, error); }
    if (status != TN_OK) { return status; }
    if (rows->rank < 1 || shape_has_batch(rows) || rows->rank - 1 + ids->rank > TN_RANK_MAX) {
        return error_set(error, TN_EINVAL,
                         "the rows must be a variable with a first dimension, and the result have "
                         "at most %d dimensions",
                         TN_RANK_MAX);
    }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = *ids;
    for (uint32_t i = 1; i < rows->rank; i++) {
        node->shapes[0].dims[node->shapes[0].rank++] = rows->dims[i];
    }
    return TN_OK;
}

static void gradient_of_gather(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                               tn_tensor *dx)
{
    struct attributes attributes = {.shape = *shape_of(graph, input_of(graph, self, 0))};
    tn_tensor inputs[] = {input_of(graph, self, 1), dy[0]};
    dx[0] = graph_add(graph, &op_gather_gradient, inputs, 2, &attributes);
}

static int64_t limit_of_gather(const struct tn_graph *graph, const struct node *node,
                               uint32_t input)
{
    return input == 1 ? input_shape(graph, node, 0)->dims[0] : 0;
}

const struct op_type op_gather = {
    .name = "gather",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_gather,
    .build_gradient = gradient_of_gather,
    .index_limit = limit_of_gather,
};

const struct op_type op_gather_gradient = {
    .name = "gather_gradient",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_from_attributes,
};

static enum tn_status infer_one_hot(const struct tn_graph *graph, struct node *node,
                                    struct error *error)
{
    const struct tn_shape *ids = input_shape(graph, node, 0);
    enum tn_status status = check_integer(graph, node, 0, error);
    if (status != TN_OK) { return status; }
    if (ids->rank == TN_RANK_MAX) {
        return error_set(error, TN_EINVAL, "the result would have more than %d dimensions",
                         TN_RANK_MAX);
    }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = *ids;
    node->shapes[0].dims[node->shapes[0].rank++] = node->attributes.integers[0];
    return TN_OK;
}

static int64_t limit_of_one_hot(const struct tn_graph *graph, const struct node *node,
                                uint32_t input)
{
    (void)graph, (void)input;
    return node->attributes.integers[0];
}

const struct op_type op_one_hot = {
    .name = "one_hot",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_one_hot,
    .index_limit = limit_of_one_hot,
};

/* To float32 from any type; to a wider integer; from floats that are whole numbers to integers. */
static enum tn_status infer_cast(const struct tn_graph *graph, struct node *node,
                                 struct error *error)
{
    enum tn_type from = input_type(graph, node, 0), to = node->attributes.type;
    const bool wide = to == TN_INT64 || (to == TN_INT32 && from != TN_INT64);
    if (to != TN_FLOAT32 && !(wide && node->attributes.numbers[0] == 1)) {
        return error_set(error, TN_EINVAL,
                         "a cast to %s by %g is not possible: cast to float32, or by 1 to int64, "
                         "or to int32 from another type than int64",
                         type_name(to), node->attributes.numbers[0]);
    }
    node->types[0] = to;
    node->shapes[0] = *input_shape(graph, node, 0);
    return TN_OK;
}

/* Only floats have gradients, and integers give none. */
static void gradient_of_cast(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                             tn_tensor *dx)
{
    const struct node *node = node_of(graph, self);
    if (input_type(graph, node, 0) != TN_FLOAT32 || node->types[0] != TN_FLOAT32) { return; }
    dx[0] = tn_scale(graph, dy[0], (float)node->attributes.numbers[0]);
}

const struct op_type op_cast = {
    .name = "cast",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_cast,
    .build_gradient = gradient_of_cast,
};

tn_tensor tn_gather(struct tn_graph *graph, tn_tensor rows, tn_tensor ids)
{
    return graph_add2(graph, &op_gather, rows, ids);
}

tn_tensor tn_one_hot(struct tn_graph *graph, tn_tensor ids, int64_t depth)
{
    struct attributes attributes = {.integers = {depth}};
    return graph_add(graph, &op_one_hot, &ids, 1, &attributes);
}

tn_tensor tn_cast(struct tn_graph *graph, tn_tensor x, enum tn_type type, float scale)
{
    struct attributes attributes = {.type = type, .numbers = {(double)scale}};
    if (!isfinite(scale)) { return graph_fail(graph, TN_EINVAL, "cast: give a finite scale"); }
    return graph_add(graph, &op_cast, &x, 1, &attributes);
}
