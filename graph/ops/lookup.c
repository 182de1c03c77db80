/*
 * graph/ops/lookup.c: tables of rows by key. A lookup is a leaf: the owner of the program finds the
 * rows of its keys before a run, and takes the gradient of the rows after it. Its inputs
 * define which rows these are.
 */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/ops.h"

static enum tn_status infer_table(const struct tn_graph *graph, struct node *node,
                                  struct error *error)
{
    (void)graph, (void)error;
    node->shapes[0] = node->attributes.shape;
    node->types[0] = TN_FLOAT32;
    return TN_OK;
}

/* No value: lookups alone read it. */
const struct op_type op_table = {
    .name = "table",
    .version = 1,
    .traits = {.leaf = true, .varies = true},
    .outputs = 1,
    .infer = infer_table,
};

/* The keys are known before anything is computed: they are a field of the data. */
static enum tn_status check_keys(const struct tn_graph *graph, const struct node *node,
                                 uint32_t input, struct error *error)
{
    const struct tn_shape *shape = input_shape(graph, node, input);
    const int64_t *integers = node->attributes.integers;
    char text[SHAPE_TEXT_MAX];
    if (node_of(graph, node->inputs[input])->op != &op_placeholder ||
        input_type(graph, node, input) != TN_INT64 || shape->rank != 2) {
        return error_set(error, TN_EINVAL,
                         "the keys are %s: give a placeholder of type int64 with the shape "
                         "[batch, n]",
                         shape_format(input_type(graph, node, input), shape, text));
    }
    if (integers[1] >= 1 && integers[0] + integers[1] <= shape->dims[1]) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "columns %" PRId64 " to %" PRId64 " of the keys, which have %" PRId64
                     ": give at least one of them",
                     integers[0], integers[0] + integers[1], shape->dims[1]);
}

static enum tn_status infer_lookup(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    enum tn_status status = check_keys(graph, node, 1, error);
    node->types[0] = TN_FLOAT32;
    node->shapes[0] =
        TN_SHAPE(TN_BATCH, node->attributes.integers[1], input_shape(graph, node, 0)->dims[0]);
    return status;
}

const struct op_type op_lookup = {
    .name = "lookup",
    .version = 1,
    .traits = {.leaf = true, .varies = true},
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_lookup,
};

static enum tn_status infer_key_share(const struct tn_graph *graph, struct node *node,
                                      struct error *error)
{
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = TN_SHAPE(TN_BATCH, 1);
    return check_keys(graph, node, 0, error);
}

const struct op_type op_key_share = {
    .name = "key_share",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_key_share,
};

static bool check_table(struct tn_graph *graph, const char *path, uint32_t width,
                        const struct tn_table_options *options)
{
    uint32_t tables = 0;
    for (uint32_t i = 0; i < graph->count; i++) { tables += graph->nodes[i].op == &op_table; }
    if (tables == TN_TABLES_MAX) {
        graph_fail(graph, TN_EINVAL, "table '%s': the graph has %d tables, the limit", path,
                   TN_TABLES_MAX);
    } else if (width < 1 || width > TN_TABLE_WIDTH_MAX) {
        graph_fail(graph, TN_EINVAL, "table '%s': the width is %" PRIu32 ": give 1 to %d", path,
                   width, TN_TABLE_WIDTH_MAX);
    } else if (!(options->scale >= 0 && isfinite(options->scale)) || options->rows > INT64_MAX) {
        graph_fail(graph, TN_EINVAL,
                   "table '%s': a scale of %g for %" PRIu64
                   " rows: give a finite one of at least 0, and at most 2^63-1 rows",
                   path, (double)options->scale, options->rows);
    }
    return !graph_failed(graph);
}

tn_table tn_table_create(struct tn_graph *graph, const char *name, uint32_t width,
                         const struct tn_table_options *options)
{
    const struct tn_table_options none = {0};
    assert(graph != NULL);
    const char *path = graph_path(graph, name);
    if (path == NULL) { return (tn_table){0}; }
    if (options == NULL) { options = &none; }
    const tn_tensor found = graph_find(graph, &op_table, path);
    if (found.v != 0 && shape_of(graph, found)->dims[0] == width) { return (tn_table){found.v}; }
    if (found.v != 0) {
        graph_fail(graph, TN_EINVAL,
                   "table '%s' exists with the width %" PRId64 " and cannot have %" PRIu32
                   " as well: use another name",
                   path, shape_of(graph, found)->dims[0], width);
    }
    if (graph_failed(graph) || !check_table(graph, path, width, options)) { return (tn_table){0}; }
    const double scale = options->scale > 0 ? (double)options->scale : 1 / sqrt((double)width);
    const struct attributes attributes = {
        .name = path,
        .shape = TN_SHAPE(width),
        .integers = {(int64_t)options->rows},
        .numbers = {(double)(float)scale},
    };
    return (tn_table){graph_add(graph, &op_table, NULL, 0, &attributes).v};
}

tn_tensor tn_lookup(struct tn_graph *graph, tn_table table, tn_tensor keys, uint32_t first,
                    uint32_t count, enum tn_pooling pooling)
{
    assert(graph != NULL);
    const uint32_t bag = 1;
    const struct attributes attributes = {.integers = {first, count}};
    if (pooling < TN_POOL_NONE || pooling > TN_POOL_MEAN) {
        return graph_fail(graph, TN_EINVAL, "lookup: unknown pooling %d", (int)pooling);
    }
    const tn_tensor inputs[] = {{table.v}, keys};
    const tn_tensor rows = graph_add(graph, &op_lookup, inputs, 2, &attributes);
    if (pooling == TN_POOL_NONE) { return rows; }
    const tn_tensor sum = tn_sum(graph, rows, &bag, 1);
    if (pooling == TN_POOL_SUM) { return sum; }
    return tn_multiply(graph, sum, graph_add(graph, &op_key_share, &keys, 1, &attributes));
}
