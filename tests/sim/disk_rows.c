#include "tests/sim/disk_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/row_table.h"

struct table_rows {
    uint64_t count;
    uint64_t *keys;
    float *numbers;
};

struct disk_rows {
    uint32_t count;
    struct table_rows tables[];
};

static void copy_table(struct table_rows *out, const struct row_table *table, uint64_t count,
                       struct digest_stream *digest)
{
    const uint32_t numbers = row_table_numbers(table);
    *out = (struct table_rows){.count = count};
    out->keys = malloc((count + 1) * sizeof *out->keys);
    out->numbers = malloc((count + 1) * numbers * sizeof *out->numbers);
    assert(out->keys != NULL && out->numbers != NULL);
    for (uint64_t i = 0; i < count; i++) {
        const struct row_table_row row = row_table_saved_row(table, i);
        out->keys[i] = row.key;
        memcpy(out->numbers + i * numbers, row.numbers, numbers * sizeof *row.numbers);
    }
    digest_add(digest, out->keys, count * sizeof *out->keys);
    digest_add(digest, out->numbers, count * numbers * sizeof *out->numbers);
}

struct disk_rows *disk_rows_copy(const struct store_rows *rows, struct digest_stream *digest)
{
    if (rows->count == 0) { return NULL; }
    struct disk_rows *copy = malloc(sizeof *copy + rows->count * sizeof copy->tables[0]);
    assert(copy != NULL);
    copy->count = rows->count;
    for (uint32_t t = 0; t < rows->count; t++) {
        copy_table(&copy->tables[t], rows->tables[t], rows->row_counts[t], digest);
    }
    return copy;
}

void disk_rows_free(struct disk_rows *rows)
{
    for (uint32_t t = 0; rows != NULL && t < rows->count; t++) {
        free(rows->tables[t].keys);
        free(rows->tables[t].numbers);
    }
    free(rows);
}

void disk_rows_load(const struct disk_rows *rows, const struct store_rows *to)
{
    assert(rows != NULL && rows->count == to->count);
    for (uint32_t t = 0; t < rows->count; t++) {
        const struct table_rows *table = &rows->tables[t];
        const struct sparse_rows loaded = {
            .count = table->count, .keys = table->keys, .values = table->numbers};
        const enum tn_status status = row_table_load(to->tables[t], loaded, NULL);
        assert(status == TN_OK);
    }
}
