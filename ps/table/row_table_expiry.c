/* Rows in the order in which they were trained, of which the oldest expire. Tables whose rows do
 * not expire have no such order. */
#include <assert.h>
#include <stdlib.h>

#include "ps/table/row_table_private.h"

static bool is_ordered(const struct row_table *table)
{
    return table->spec.expire_after > 0;
}

/* ------------------------------------------------------------------- the list */

static void append(struct row_table *table, uint32_t cell)
{
    *links_of(table, cell) = (struct links){.before = table->last, .after = KEY_INDEX_NONE};
    if (table->last == KEY_INDEX_NONE) {
        table->first = cell;
    } else {
        links_of(table, table->last)->after = cell;
    }
    table->last = cell;
    if (table->live == KEY_INDEX_NONE) { table->live = cell; }
    table->rows++;
}

static void take_out(struct row_table *table, uint32_t cell)
{
    const struct links links = *links_of(table, cell);
    if (has_expired(table, cell, table->step)) {
        table->expired--;
    } else {
        table->rows--;
    }
    if (table->live == cell) { table->live = links.after; }
    if (links.before == KEY_INDEX_NONE) {
        table->first = links.after;
    } else {
        links_of(table, links.before)->after = links.after;
    }
    if (links.after == KEY_INDEX_NONE) {
        table->last = links.before;
    } else {
        links_of(table, links.after)->before = links.before;
    }
}

void row_table_renew(struct row_table *table, uint32_t old, uint32_t fresh)
{
    if (!is_ordered(table)) {
        table->rows += old == KEY_INDEX_NONE;
        return;
    }
    if (old != KEY_INDEX_NONE) { take_out(table, old); }
    append(table, fresh);
}

void row_table_fetch_links(const struct row_table *table, uint32_t old)
{
    if (!is_ordered(table) || old == KEY_INDEX_NONE) { return; }
    const struct links links = *links_of(table, old);
    if (links.before != KEY_INDEX_NONE) { __builtin_prefetch(links_of(table, links.before)); }
    if (links.after != KEY_INDEX_NONE) { __builtin_prefetch(links_of(table, links.after)); }
}

/* --------------------------------------------------------------------- expiry */

uint64_t row_table_expiring(const struct row_table *table)
{
    uint64_t count = 0;
    for (uint32_t cell = table->live;
         cell != KEY_INDEX_NONE && has_expired(table, cell, table->step + 1);
         cell = links_of(table, cell)->after) {
        count++;
    }
    return count;
}

void row_table_expire(struct row_table *table)
{
    while (table->live != KEY_INDEX_NONE && has_expired(table, table->live, table->step)) {
        table->live = links_of(table, table->live)->after;
        table->rows--;
        table->expired++;
    }
}

void row_table_remove_expired(struct row_table *table, uint64_t floor)
{
    const struct key_index_cells all = row_table_cells(table);
    while (table->first != table->live && has_expired(table, table->first, floor)) {
        const uint32_t cell = table->first;
        const uint64_t hash = key_index_hash(cell_at(table, cell)->key);
        take_out(table, cell);
        key_index_remove(&table->index, hash, cell, &all);
        row_table_free_cell(table, cell, UINT64_MAX);
    }
}

uint64_t row_table_count_changed(const struct row_table *table)
{
    uint64_t count = 0;
    for (uint32_t cell = table->last;
         cell != KEY_INDEX_NONE && cell_at(table, cell)->step > table->base;
         cell = links_of(table, cell)->before) {
        count++;
    }
    return count;
}

/* -------------------------------------------------------------------- loading */

/* All newest cells, by their steps. */
static uint64_t list_steps(const struct row_table *table, struct sparse_place *out)
{
    struct key_index_place place = {.part = 0};
    uint64_t count = 0;
    uint32_t cell;
    while ((cell = key_index_each(&table->index, &place)) != KEY_INDEX_NONE) {
        out[count++] = (struct sparse_place){.key = cell_at(table, cell)->step, .position = cell};
    }
    assert(count == table->rows);
    return count;
}

static void make_list(struct row_table *table, uint64_t count, const struct sparse_place *cells)
{
    table->rows = table->expired = 0;
    table->first = table->last = table->live = KEY_INDEX_NONE;
    for (uint64_t i = 0; i < count; i++) { append(table, cells[i].position); }
    row_table_expire(table);
}

bool row_table_order(struct row_table *table)
{
    if (!is_ordered(table)) { return true; }
    assert(table->expired == 0);
    struct sparse_place *list = malloc((table->rows + 1) * sizeof *list);
    struct sparse_place *room = malloc((table->rows + 1) * sizeof *room);
    const bool found = list != NULL && room != NULL;
    if (found) {
        const uint64_t count = list_steps(table, list);
        make_list(table, count, sparse_sort(count, list, room));
    }
    free(list);
    free(room);
    if (!found ||
        !row_table_reserve_list(table, (void **)&table->free_cells, sizeof *table->free_cells,
                                &table->free_room,
                                table->free_count + table->retired_count + table->expired)) {
        return false;
    }
    row_table_collect(table);
    return true;
}
