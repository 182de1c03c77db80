/* The rows that a former process has left (P13, P14): the index and the lists are made again. */
#include <assert.h>
#include <stdlib.h>

#include "common/base/minmax.h"
#include "ps/table/row_table_private.h"

/* Cells whose places in the index are fetched ahead. */
enum { AHEAD = 16 };

static enum tn_status contradiction(const struct row_table *table, const char *what,
                                    struct error *error)
{
    return error_set(error, TN_ECORRUPT, "table '%s': %s", table->spec.name, what);
}

/* ------------------------------------------------------------------------ blocks */

static bool adopt_block(struct row_table *table, uint8_t *block, uint32_t number)
{
    const uint64_t most = row_table_blocks_most(table);
    if (number >= u64_min(most, table->spec.owner.arena->size.blocks)) { return false; }
    if (table->blocks[number] != NULL) { return false; }
    table->blocks[number] = block;
    table->kept_blocks++;
    table->block_count = u64_max(table->block_count, (uint64_t)number + 1);
    return true;
}

/* All blocks of the table. False: one is missing, or two have one number. */
static bool adopt_blocks(struct row_table *table)
{
    const struct cell_owner owner = table->spec.owner;
    uint32_t number;
    bool whole = true;
    for (uint32_t i = 0; i < owner.arena->size.blocks && whole; i++) {
        uint8_t *block = cell_arena_block(owner, block_owner_of(table), i, &number);
        whole = block == NULL || adopt_block(table, block, number);
    }
    return whole && table->kept_blocks == table->block_count;
}

/* ------------------------------------------------------------------------- cells */

static void make_free(struct row_table *table, uint32_t number)
{
    struct cell *cell = cell_at(table, number);
    cell->step = CELL_FREE;
    cell->older = KEY_INDEX_NONE;
}

/* Free the cells of a key that no step from the floor on reads. */
static void free_old(struct row_table *table, uint32_t newest, uint64_t floor)
{
    struct cell *needed = cell_at(table, newest);
    while (needed->step > floor && needed->older != KEY_INDEX_NONE) {
        needed = cell_at(table, needed->older);
    }
    uint32_t number = needed->older;
    needed->older = KEY_INDEX_NONE;
    while (number != KEY_INDEX_NONE) {
        const uint32_t older = cell_at(table, number)->older;
        make_free(table, number);
        number = older;
    }
}

/* Put a cell among those of its key, which are in the order of their steps. False: it is of the
 * same step as another one. */
static bool sort_in(struct row_table *table, uint32_t newest, uint32_t number, uint64_t floor)
{
    struct cell *cell = cell_at(table, number), *newer = cell_at(table, newest);
    if (cell->step > newer->step) {
        cell->older = newest;
        key_index_replace(&table->index, key_index_hash(cell->key), newest, number);
        free_old(table, number, floor);
        return true;
    }
    while (newer->older != KEY_INDEX_NONE && cell_at(table, newer->older)->step >= cell->step) {
        newer = cell_at(table, newer->older);
    }
    if (newer->step == cell->step) { return false; }
    cell->older = newer->older;
    newer->older = number;
    free_old(table, newest, floor);
    return true;
}

static enum tn_status add_cell(struct row_table *table, uint32_t number,
                               const struct row_table_kept *kept, struct error *error)
{
    struct cell *cell = cell_at(table, number);
    if (cell->step > kept->step) { /* Its step was not completed, or it is free. */
        make_free(table, number);
        return TN_OK;
    }
    if (cell->key > SPARSE_KEY_MOST ||
        !row_part_has(&table->spec.part, table->spec.number, cell->key)) {
        return contradiction(table, "a row is of another ps", error);
    }
    const uint32_t newest = row_table_find(table, cell->key);
    cell->older = KEY_INDEX_NONE;
    if (newest != KEY_INDEX_NONE) {
        return sort_in(table, newest, number, kept->floor)
                   ? TN_OK
                   : contradiction(table, "two rows have one key and step", error);
    }
    row_table_divide_index(table, 1, 0);
    if (!row_table_reserve_slot(table, cell->key)) { return row_table_refuse(table, 0, error); }
    key_index_add(&table->index, key_index_hash(cell->key), number);
    table->rows++;
    return TN_OK;
}

static enum tn_status add_cells(struct row_table *table, const struct row_table_kept *kept,
                                struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < kept->cells && status == TN_OK; i++) {
        if (kept->cells - i > AHEAD) {
            const uint64_t key = cell_at(table, i + 1 + AHEAD)->key;
            __builtin_prefetch(key_index_bucket_of(&table->index, key_index_hash(key)));
        }
        status = add_cell(table, i + 1, kept, error);
    }
    return status;
}

/* ------------------------------------------------------------------------- lists */

static int compare_steps(const void *a, const void *b)
{
    const uint64_t left = ((const struct retired *)a)->step,
                   right = ((const struct retired *)b)->step;
    return (left > right) - (left < right);
}

/* Whether its key is in the list for the next delta. */
static bool is_listed(const struct row_table *table, const struct cell *cell,
                      const struct row_table_kept *kept)
{
    return table->spec.expire_after == 0 && cell->step != CELL_FREE && cell->step > kept->base;
}

static bool reserve_lists(struct row_table *table, uint64_t free_cells, uint64_t retired,
                          uint64_t dirty)
{
    return row_table_reserve_list(table, (void **)&table->free_cells, sizeof *table->free_cells,
                                  &table->free_room, free_cells + retired) &&
           row_table_reserve_list(table, (void **)&table->dirty, sizeof *table->dirty,
                                  &table->dirty_room, dirty) &&
           row_table_reserve_retired(table, retired);
}

/* The free cells, those that wait until no step reads them, and the keys of the next delta, a key
 * once for each version. */
static bool list_cells(struct row_table *table, const struct row_table_kept *kept)
{
    uint64_t free_cells = 0, retired = 0, dirty = 0;
    for (uint64_t i = 1; i <= kept->cells; i++) {
        const struct cell *cell = cell_at(table, (uint32_t)i);
        free_cells += cell->step == CELL_FREE;
        retired += cell->older != KEY_INDEX_NONE;
        dirty += is_listed(table, cell, kept);
    }
    if (!reserve_lists(table, free_cells, retired, dirty)) { return false; }
    for (uint64_t i = kept->cells; i >= 1; i--) {
        const struct cell *cell = cell_at(table, (uint32_t)i);
        if (cell->step == CELL_FREE) {
            table->free_cells[table->free_count++] = (uint32_t)i;
            continue;
        }
        if (is_listed(table, cell, kept)) { table->dirty[table->dirty_count++] = cell->key; }
        if (cell->older == KEY_INDEX_NONE) { continue; }
        table->retired[table->retired_count++] =
            (struct retired){.cell = cell->older, .step = cell->step};
    }
    table->twins = dirty > 0;
    if (retired > 1) { qsort(table->retired, retired, sizeof *table->retired, compare_steps); }
    return true;
}

enum tn_status row_table_recover(struct row_table *table, const struct row_table_kept *kept,
                                 struct error *error)
{
    assert(table->spec.owner.arena != NULL && !table->spec.full_saves);
    assert(table->block_count == 0 && table->step == 0);
    assert(kept->floor <= kept->step && kept->base <= kept->step);
    if (!adopt_blocks(table)) { return contradiction(table, "its blocks are incomplete", error); }
    if (table->block_count << table->block_shift < kept->cells) {
        return contradiction(table, "it has too few blocks", error);
    }
    table->cells = kept->cells;
    enum tn_status status = add_cells(table, kept, error);
    if (status != TN_OK) { return status; }
    if (!list_cells(table, kept)) { return row_table_refuse(table, 0, error); }
    table->step = table->mark = kept->step;
    table->floor = kept->floor;
    table->base = kept->base;
    return row_table_order(table) ? TN_OK : row_table_refuse(table, 0, error);
}
