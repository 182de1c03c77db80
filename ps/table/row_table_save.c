/* Saves and digests: rows in ascending order of keys. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/row_table_private.h"

/* The cells of all rows as of `step`, in no order. */
static uint64_t list_all(const struct row_table *table, uint64_t step, struct sparse_place *out)
{
    struct key_index_place place = {.part = 0};
    uint64_t count = 0;
    uint32_t newest;
    while ((newest = key_index_each(&table->index, &place)) != KEY_INDEX_NONE) {
        const uint32_t cell = row_table_cell_of(table, newest, step);
        if (cell == KEY_INDEX_NONE) { continue; }
        out[count++] = (struct sparse_place){.key = cell_at(table, cell)->key, .position = cell};
    }
    assert(count <= table->rows + table->expired);
    return count;
}

/* Add the cell as of `step` of a row if it changed since the last committed save. Returns how many
 * were added. */
static uint64_t put_changed(const struct row_table *table, uint32_t newest, uint64_t step,
                            struct sparse_place *out)
{
    const uint32_t cell = row_table_cell_of(table, newest, step);
    if (cell == KEY_INDEX_NONE || cell_at(table, cell)->step <= table->base) { return 0; }
    *out = (struct sparse_place){.key = cell_at(table, cell)->key, .position = cell};
    return 1;
}

static uint64_t list_dirty(const struct row_table *table, uint64_t step, struct sparse_place *out)
{
    uint64_t count = 0;
    for (uint64_t d = 0; d < table->dirty_count; d++) {
        const uint32_t newest = row_table_find(table, table->dirty[d]);
        count += put_changed(table, newest, step, out + count);
    }
    return count;
}

/* The rows to save if rows expire. A row that changed and has expired is left out: an older version
 * in the files expired before. */
static uint64_t list_last(const struct row_table *table, uint64_t step, struct sparse_place *out)
{
    uint64_t count = 0, left = row_table_count_changed(table);
    for (uint32_t newest = table->last; left > 0; left--) {
        count += put_changed(table, newest, step, out + count);
        newest = links_of(table, newest)->before;
    }
    return count;
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

static uint64_t list_cells(const struct row_table *table, uint64_t step, bool all,
                           struct sparse_place *out)
{
    if (all) { return list_all(table, step, out); }
    return table->spec.expire_after > 0 ? list_last(table, step, out)
                                        : list_dirty(table, step, out);
}

/* The rows in ascending order; malloc'ed, NULL: out of memory. */
static struct sparse_place *list_rows(const struct row_table *table, uint64_t step, bool all,
                                      uint64_t *count)
{
    const uint64_t most =
        all ? table->rows + table->expired : table->dirty_count + row_table_count_changed(table);
    struct sparse_place *list = malloc((most + 1) * sizeof *list);
    struct sparse_place *room = malloc((most + 1) * sizeof *room);
    if (list == NULL || room == NULL) {
        free(list);
        free(room);
        return NULL;
    }
    const uint64_t listed = list_cells(table, step, all, list);
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
    assert(all || !table->spec.full_saves);
    struct sparse_place *list = list_rows(table, step, all, count);
    if (list == NULL) {
        return error_set(error, TN_ENOMEM, "table '%s': out of memory for a save",
                         table->spec.name);
    }
    table->saving = true;
    table->mark = table->step;
    table->save_step = step;
    table->save = list;
    table->save_count = *count;
    table->save_dirty = table->dirty_count;
    return TN_OK;
}

struct row_table_row row_table_saved_row(const struct row_table *table, uint64_t i)
{
    assert(table->saving && i < table->save_count);
    const struct cell *cell = cell_at(table, table->save[i].position);
    return (struct row_table_row){.key = cell->key, .step = cell->step, .numbers = cell->numbers};
}

/* Keys leave the list unless their rows changed after the saved step. Those that changed after the
 * save began are behind `save_dirty`. */
static void forget_saved(struct row_table *table)
{
    uint64_t left = 0;
    const bool late = table->save_step < table->mark;
    for (uint64_t d = 0; late && d < table->save_dirty; d++) {
        const uint64_t key = table->dirty[d];
        if (cell_at(table, row_table_find(table, key))->step <= table->save_step) { continue; }
        table->dirty[left++] = key;
    }
    const uint64_t behind = table->dirty_count - table->save_dirty;
    if (behind > 0) {
        memmove(table->dirty + left, table->dirty + table->save_dirty,
                behind * sizeof *table->dirty);
    }
    table->dirty_count = left + behind;
}

void row_table_end_save(struct row_table *table, bool committed)
{
    assert(table->saving);
    if (committed) {
        table->base = table->save_step;
        forget_saved(table);
    }
    free(table->save);
    table->save = NULL;
    table->saving = false;
    row_table_unpin(table);
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
