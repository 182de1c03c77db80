/* Saves and digests: rows in ascending order of keys. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/row_table_private.h"

/* The cells of all rows as of `step`, in no order. */
static uint64_t list_all(const struct row_table *table, uint64_t step, struct sparse_place *out)
{
    uint64_t count = 0;
    for (uint32_t p = 0; p < KEY_INDEX_PARTS; p++) {
        const struct key_index_part *part = &table->index.parts[p];
        for (uint32_t b = 0; b < part->count; b++) {
            const struct key_index_bucket *bucket = &part->buckets[b];
            for (uint32_t s = 0; s < bucket->used; s++) {
                const uint32_t cell = row_table_cell_of(table, bucket->cells[s], step);
                if (cell == KEY_INDEX_NONE) { continue; }
                out[count++] = (struct sparse_place){
                    .key = cell_at(table, cell)->key,
                    .position = cell,
                };
            }
        }
    }
    assert(count <= table->rows);
    return count;
}

static uint64_t list_dirty(const struct row_table *table, struct sparse_place *out)
{
    for (uint64_t d = 0; d < table->dirty_count; d++) {
        const uint64_t key = table->dirty[d];
        out[d] = (struct sparse_place){.key = key, .position = row_table_find(table, key)};
    }
    return table->dirty_count;
}

/* A failed save may leave keys twice. */
static uint64_t remove_twins(uint64_t count, struct sparse_place *list)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (kept > 0 && list[kept - 1].key == list[i].key) { continue; }
        list[kept++] = list[i];
    }
    return kept;
}

/* The rows in ascending order; malloc'ed, NULL: out of memory. */
static struct sparse_place *list_rows(const struct row_table *table, uint64_t step, bool all,
                                      uint64_t *count)
{
    const uint64_t most = all ? table->rows : table->dirty_count;
    struct sparse_place *list = malloc((most + 1) * sizeof *list);
    struct sparse_place *room = malloc((most + 1) * sizeof *room);
    if (list == NULL || room == NULL) {
        free(list);
        free(room);
        return NULL;
    }
    const uint64_t listed = all ? list_all(table, step, list) : list_dirty(table, list);
    struct sparse_place *sorted = sparse_sort(listed, list, room);
    free(sorted == list ? room : list);
    *count = remove_twins(listed, sorted);
    return sorted;
}

enum tn_status row_table_begin_save(struct row_table *table, uint64_t step, bool all,
                                    uint64_t *count, struct error *error)
{
    assert(!table->saving);
    assert(step >= table->floor && step <= table->step);
    assert(table->spec.full_saves ? all : step == table->step);
    struct sparse_place *list = list_rows(table, step, all, count);
    if (list == NULL) {
        return error_set(error, TN_ENOMEM, "table '%s': out of memory for a save",
                         table->spec.name);
    }
    table->saving = true;
    table->mark = step;
    table->save = list;
    table->save_count = *count;
    table->save_dirty = table->dirty_count;
    return TN_OK;
}

struct row_table_row row_table_saved_row(const struct row_table *table, uint64_t i)
{
    assert(table->saving && i < table->save_count);
    const struct cell *cell = cell_at(table, table->save[i].position);
    return (struct row_table_row){.key = cell->key, .numbers = cell->numbers};
}

void row_table_end_save(struct row_table *table, bool committed)
{
    assert(table->saving);
    if (committed && table->save_dirty > 0) {
        table->dirty_count -= table->save_dirty;
        memmove(table->dirty, table->dirty + table->save_dirty,
                table->dirty_count * sizeof *table->dirty);
    }
    free(table->save);
    table->save = NULL;
    table->saving = false;
    row_table_collect(table);
}

enum tn_status row_table_digest(const struct row_table *table, struct digest *out,
                                struct error *error)
{
    uint64_t count;
    struct digest_stream stream;
    struct sparse_place *list = list_rows(table, table->step, true, &count);
    if (list == NULL) {
        return error_set(error, TN_ENOMEM, "table '%s': out of memory for a digest",
                         table->spec.name);
    }
    digest_begin(&stream);
    for (uint64_t i = 0; i < count; i++) {
        const struct cell *cell = cell_at(table, list[i].position);
        digest_add(&stream, &cell->key, sizeof cell->key);
        digest_add(&stream, cell->numbers, table->spec.width * sizeof *cell->numbers);
    }
    free(list);
    *out = digest_end(&stream);
    return TN_OK;
}
