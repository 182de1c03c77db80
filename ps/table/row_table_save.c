/*
 * Saves and digests: rows in ascending order of keys. The steps of a ps wait while the rows of a
 * save are listed, and not while they are sorted.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/row_table_private.h"

/* Rows whose cells, as of `step`, are put into a list. */
struct listing {
    const struct row_table *table;
    uint64_t step;
    uint64_t since; /* Cells of this step or an earlier one are left out, unless `all`. */
    bool all;
    struct sparse_place *list;
    uint64_t count;
};

static void put(struct listing *listing, uint32_t newest)
{
    const struct row_table *table = listing->table;
    const uint32_t number = row_table_cell_of(table, newest, listing->step);
    if (number == KEY_INDEX_NONE) { return; }
    const struct cell *cell = cell_at(table, number);
    if (!listing->all && cell->step <= listing->since) { return; }
    listing->list[listing->count++] = (struct sparse_place){.key = cell->key, .position = number};
}

/* The cells of a group are fetched from memory at the same time. */
static void list_all(struct listing *listing)
{
    const struct row_table *table = listing->table;
    struct key_index_place place = {.part = 0};
    uint32_t group[ROW_TABLE_GROUP], size, newest;
    do {
        size = 0;
        while (size < ROW_TABLE_GROUP &&
               (newest = key_index_each(&table->index, &place)) != KEY_INDEX_NONE) {
            __builtin_prefetch(cell_at(table, newest));
            group[size++] = newest;
        }
        for (uint32_t i = 0; i < size; i++) { put(listing, group[i]); }
    } while (size == ROW_TABLE_GROUP);
    assert(listing->count <= table->rows + table->expired);
}

static void list_dirty(struct listing *listing)
{
    const struct row_table *table = listing->table;
    uint32_t cells[ROW_TABLE_GROUP];
    for (uint64_t d = 0; d < table->dirty_count; d += ROW_TABLE_GROUP) {
        const uint64_t size = u64_min(ROW_TABLE_GROUP, table->dirty_count - d);
        row_table_find_group(table, table->dirty + d, size, offsetof(struct cell, numbers), cells);
        for (uint64_t i = 0; i < size; i++) { put(listing, cells[i]); }
    }
}

/* The rows to save if rows expire. A row that changed and has expired is left out: an older version
 * in the files expired before. */
static void list_last(struct listing *listing)
{
    const struct row_table *table = listing->table;
    uint64_t left = row_table_count_changed(table);
    for (uint32_t newest = table->last; left > 0; left--) {
        put(listing, newest);
        newest = links_of(table, newest)->before;
    }
}

/* A list of rows in no order; malloc'ed, NULL: out of memory. */
static struct sparse_place *list_rows(const struct row_table *table, uint64_t step, bool all,
                                      uint64_t *count)
{
    const uint64_t most =
        all ? table->rows + table->expired : table->dirty_count + row_table_count_changed(table);
    struct listing listing = {.table = table, .step = step, .since = table->base, .all = all};
    listing.list = malloc((most + 1) * sizeof *listing.list);
    if (listing.list == NULL) { return NULL; }
    if (all) {
        list_all(&listing);
    } else if (table->spec.expire_after > 0) {
        list_last(&listing);
    } else {
        list_dirty(&listing);
    }
    assert(listing.count <= most);
    *count = listing.count;
    return listing.list;
}

/* Sort by key. False: out of memory. */
static bool sort(struct sparse_place *list, uint64_t count)
{
    struct sparse_place *room = malloc((count + 1) * sizeof *room);
    if (room == NULL) { return false; }
    const struct sparse_place *sorted = sparse_sort(count, list, room);
    if (sorted == room) { memcpy(list, room, count * sizeof *list); }
    free(room);
    return true;
}

/* Keep each key of a sorted list once. */
static uint64_t remove_twins(struct sparse_place *list, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (kept > 0 && list[kept - 1].key == list[i].key) { continue; }
        list[kept++] = list[i];
    }
    return kept;
}

enum tn_status row_table_begin_save(struct row_table *table, uint64_t step, bool all,
                                    uint64_t *count, struct error *error)
{
    assert(!table->saving);
    assert(step >= table->floor && step <= table->step);
    assert(all || !table->spec.full_saves);
    const bool twins = !all && table->twins;
    struct sparse_place *list = list_rows(table, step, all, count);
    if (list == NULL || (twins && !sort(list, *count))) {
        free(list);
        return error_set(error, TN_ENOMEM, "table '%s': out of memory for a save",
                         table->spec.name);
    }
    if (twins) { *count = remove_twins(list, *count); }
    table->saving = true;
    table->mark = table->step;
    table->save_step = step;
    table->save = list;
    table->save_count = *count;
    table->save_dirty = table->dirty_count;
    return TN_OK;
}

enum tn_status row_table_sort_save(const struct row_table *table, struct error *error)
{
    assert(table->saving);
    if (sort(table->save, table->save_count)) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "table '%s': out of memory for a save", table->spec.name);
}

struct row_table_row row_table_saved_row(const struct row_table *table, uint64_t i)
{
    assert(table->saving && i < table->save_count);
    const struct cell *cell = cell_at(table, table->save[i].position);
    return (struct row_table_row){.key = cell->key, .step = cell->step, .numbers = cell->numbers};
}

/* The save in progress is of an earlier step than the one at which it began. */
static bool is_late(const struct row_table *table)
{
    return table->save_step < table->mark;
}

/* Keys leave the list unless their rows changed after the saved step. Those that changed after the
 * save began are behind `save_dirty`. */
static void forget_saved(struct row_table *table)
{
    uint64_t left = 0;
    const bool late = is_late(table);
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
    /* Keys that stay although their rows were listed are added again when these change. */
    table->twins = !committed || is_late(table);
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
    if (list == NULL || !sort(list, count)) {
        free(list);
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
