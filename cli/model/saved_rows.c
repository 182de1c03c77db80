#include "cli/model/saved_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct row_table *table_of(const struct saved_model *saved, uint32_t table)
{
    assert(table < saved->tables.set.count);
    return saved->tables.set.tables[table];
}

struct saved_rows_shape saved_rows_shape(const struct saved_model *saved, uint32_t table)
{
    const struct row_table *rows = table_of(saved, table);
    const uint32_t width = row_table_spec_of(rows)->width;
    return (struct saved_rows_shape){
        .name = saved->model->table.row_tables[table].name,
        .rows = row_table_stats(rows).rows,
        .width = width,
        .state = row_table_numbers(rows) - width,
    };
}

uint64_t saved_rows_bytes(const struct saved_rows_shape *shape)
{
    return shape->rows * (sizeof(uint64_t) + (shape->width + shape->state) * sizeof(float));
}

static size_t size_of(const struct saved_rows_shape *shape, enum saved_part part)
{
    if (part == SAVED_KEYS) { return sizeof(int64_t); }
    return (part == SAVED_VALUES ? shape->width : shape->state) * sizeof(float);
}

static const void *part_of(const struct row_table_row *row, const struct saved_rows_shape *shape,
                           enum saved_part part)
{
    if (part == SAVED_KEYS) { return &row->key; }
    return part == SAVED_VALUES ? row->numbers : row->numbers + shape->width;
}

enum tn_status saved_rows_read(struct saved_model *saved, uint32_t table, enum saved_part part,
                               void **out, struct error *error)
{
    struct row_table *rows = table_of(saved, table);
    const struct saved_rows_shape shape = saved_rows_shape(saved, table);
    const size_t size = size_of(&shape, part);
    uint64_t count = 0;
    enum tn_status status = row_table_begin_save(rows, row_table_step(rows), true, &count, error);
    *out = NULL;
    if (status != TN_OK) { return status; }
    assert(count == shape.rows);
    status = row_table_sort_save(rows, error);
    uint8_t *bytes = status == TN_OK ? malloc(count * size + 1) : NULL;
    for (uint64_t i = 0; bytes != NULL && i < count; i++) {
        const struct row_table_row row = row_table_saved_row(rows, i);
        memcpy(bytes + i * size, part_of(&row, &shape, part), size);
    }
    row_table_end_save(rows, false);
    *out = bytes;
    if (status != TN_OK || bytes != NULL) { return status; }
    return error_set(error, TN_ENOMEM, "out of memory for %" PRIu64 " rows of the table '%s'",
                     count, shape.name);
}

enum tn_status saved_rows_digest(const struct saved_model *saved, struct digest *out,
                                 struct error *error)
{
    const struct digest dense = variable_table_digest(&saved->model->table, saved->values->data);
    return row_set_digest(&saved->tables.set, dense, out, error);
}
