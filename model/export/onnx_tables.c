#include "model/export/onnx_tables.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/minmax.h"
#include "graph/core/shape.h"
#include "graph/ops/ops.h"
#include "model/export/onnx_operators.h"

enum { NAME_MAX_BYTES = VARIABLE_NAME_MAX + 8 };

static const char *part_name(struct to_onnx_builder *builder, const char *table, const char *part)
{
    char text[NAME_MAX_BYTES];
    (void)snprintf(text, sizeof text, "%s/%s", table, part);
    return to_onnx_keep_text(builder, text);
}

const char *onnx_table_write(struct to_onnx_builder *builder, const struct row_table_shape *shape,
                             const struct onnx_rows *rows)
{
    static const int64_t no_key = TN_KEY_NONE;
    assert(shape->width >= 1 && (rows->count == 0 || rows->keys != NULL));
    if (shape->rows > 0) {
        (void)error_set(&builder->error, TN_EINVAL,
                        "table '%s' hashes its keys into %" PRIu64
                        " rows, which operators of ONNX cannot compute: export .safetensors or "
                        ".npz",
                        shape->name, shape->rows);
        return NULL;
    }
    const bool empty = rows->count == 0;
    const int64_t count = (int64_t)u64_max(rows->count, 1);
    const struct tn_shape of_keys = {.rank = 1, .dims = {count}};
    const struct tn_shape of_values = {.rank = 2, .dims = {count, shape->width}};
    const size_t bytes = (size_t)count * shape->width * sizeof(float);
    const void *values = empty ? to_onnx_keep(builder, bytes) : rows->values;
    (void)to_onnx_initializer(builder, part_name(builder, shape->name, "keys"), TN_INT64, &of_keys,
                              empty ? &no_key : rows->keys, (size_t)count * sizeof(int64_t));
    (void)to_onnx_initializer(builder, part_name(builder, shape->name, "values"), TN_FLOAT32,
                              &of_values, values, bytes);
    return to_onnx_keep_text(builder, shape->name);
}

static const char *integer(struct to_onnx_builder *builder, int64_t value)
{
    return to_onnx_integers(builder, &value, 1);
}

/* The columns of `keys` that a lookup or a share reads. */
static const char *columns_of(struct to_onnx_builder *builder, const struct node *node,
                              const struct tn_shape *shape, const char *keys)
{
    const int64_t first = node->attributes.integers[0], count = node->attributes.integers[1];
    if (first == 0 && count == shape_last(shape)) { return keys; }
    const char *in[] = {keys, integer(builder, first), integer(builder, first + count),
                        integer(builder, 1)};
    return to_onnx_node(builder, "Slice", in, 4, NULL);
}

/* The place of the last key of the table that is at most `keys`, or 0. The range is halved as often
 * for each key, so that the graph needs no loop. */
static const char *find_place(struct to_onnx_builder *builder, const char *table_keys,
                              uint64_t rows, const char *keys)
{
    const char *place = integer(builder, 0);
    for (uint64_t count = u64_max(rows, 1); count > 1;) {
        const uint64_t half = count / 2;
        const char *middle =
            to_onnx_node2(builder, "Add", place, integer(builder, (int64_t)half), NULL);
        const char *found = to_onnx_node2(builder, "Gather", table_keys, middle, NULL);
        const char *in[] = {to_onnx_node2(builder, "LessOrEqual", found, keys, NULL), middle,
                            place};
        place = to_onnx_node(builder, "Where", in, 3, NULL);
        count -= half;
    }
    return place;
}

const char *onnx_lookup_write(struct to_onnx_builder *builder, const struct node *node,
                              const char *table, uint64_t rows, const char *keys)
{
    const char *table_keys = part_name(builder, table, "keys");
    const char *table_values = part_name(builder, table, "values");
    keys = columns_of(builder, node, input_shape(builder->graph, node, 1), keys);
    const char *place = find_place(builder, table_keys, rows, keys);
    const char *found = to_onnx_node2(builder, "Gather", table_keys, place, NULL);
    const char *equal = to_onnx_node2(builder, "Equal", found, keys, NULL);
    const char *in[] = {
        to_onnx_node2(builder, "Unsqueeze", equal, integer(builder, 2), NULL),
        to_onnx_node2(builder, "Gather", table_values, place, NULL),
        to_onnx_number(builder, 0),
    };
    return to_onnx_node(builder, "Where", in, 3, NULL);
}

/* One over the number of keys in a bag; 1 of an empty one. */
static const char *write_key_share(struct to_onnx_builder *builder, const struct node *node,
                                   const char *const *in)
{
    const char *keys = columns_of(builder, node, input_shape(builder->graph, node, 0), in[0]);
    const char *absent = to_onnx_node2(builder, "Equal", keys, integer(builder, TN_KEY_NONE), NULL);
    const char *present = to_onnx_node1(builder, "Not", absent, NULL);
    const char *ones = to_onnx_node1(builder, "Cast", present, NULL);
    to_onnx_attribute_int(builder, "to", to_onnx_type_of(TN_FLOAT32));
    const char *count = to_onnx_node2(builder, "ReduceSum", ones, integer(builder, 1), NULL);
    const char *least = to_onnx_node2(builder, "Max", count, to_onnx_number(builder, 1), NULL);
    return to_onnx_node2(builder, "Div", to_onnx_number(builder, 1), least, NULL);
}

const struct to_onnx_operator to_onnx_tables[] = {
    {&op_key_share, write_key_share, NULL},
    {NULL, NULL, NULL},
};
