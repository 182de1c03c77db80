/* The memory of a table: cells in blocks, lists, and slots of the index, within the limit. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/base/minmax.h"
#include "ps/table/row_table_private.h"

enum { LEAST_ROOM = 64 };

uint64_t row_table_bytes(const struct row_table *table)
{
    return table->cells * table->cell_bytes + table->index.bytes +
           table->retired_room * sizeof *table->retired + table->dirty_room * sizeof *table->dirty +
           table->found_room * sizeof *table->found + table->free_room * sizeof *table->free_cells;
}

void row_table_limit(struct row_table *table, uint64_t memory_bytes)
{
    table->spec.memory_bytes = memory_bytes;
}

enum tn_status row_table_refuse(const struct row_table *table, uint64_t wanted, struct error *error)
{
    if (table->spec.memory_bytes == 0) {
        return error_set(error, TN_ENOMEM, "table '%s': out of memory with %" PRIu64 " rows",
                         table->spec.name, table->rows);
    }
    return error_set(error, TN_ENOMEM,
                     "table '%s': %" PRIu64 " rows take %" PRIu64 " bytes, and %" PRIu64
                     " more would exceed the limit of %" PRIu64
                     " bytes: raise the limit, or use more ps, narrower rows or fewer keys",
                     table->spec.name, table->rows, row_table_bytes(table), wanted,
                     table->spec.memory_bytes);
}

/* The bytes that the limit leaves. */
static uint64_t bytes_left(const struct row_table *table)
{
    const uint64_t most = table->spec.memory_bytes, used = row_table_bytes(table);
    if (most == 0) { return UINT64_MAX; }
    return most - u64_min(most, used);
}

static bool fits(const struct row_table *table, uint64_t bytes)
{
    return bytes <= bytes_left(table);
}

/* ------------------------------------------------------------------ lists, index */

/* Twice the room, or as much as is needed where the limit does not allow more. */
static uint64_t larger_room(const struct row_table *table, uint64_t room, uint64_t wanted,
                            size_t size)
{
    const uint64_t larger = u64_max(wanted, u64_max(2 * room, LEAST_ROOM));
    return fits(table, (larger - room) * size) ? larger : wanted;
}

bool row_table_reserve_list(const struct row_table *table, void **list, size_t size, uint64_t *room,
                            uint64_t wanted)
{
    if (wanted <= *room) { return true; }
    const uint64_t larger = larger_room(table, *room, wanted, size);
    if (!fits(table, (larger - *room) * size)) { return false; }
    void *grown = realloc(*list, larger * size);
    if (grown == NULL) { return false; }
    *list = grown;
    *room = larger;
    return true;
}

bool row_table_reserve_retired(struct row_table *table, uint64_t more)
{
    const uint64_t wanted = table->retired_count + more;
    if (wanted <= table->retired_room) { return true; }
    const uint64_t room = larger_room(table, table->retired_room, wanted, sizeof *table->retired);
    if (!fits(table, (room - table->retired_room) * sizeof *table->retired)) { return false; }
    struct retired *ring = malloc(room * sizeof *ring);
    if (ring == NULL) { return false; }
    for (uint64_t i = 0; i < table->retired_count; i++) {
        ring[i] = table->retired[retired_place(table, i)];
    }
    free(table->retired);
    table->retired = ring;
    table->retired_first = 0;
    table->retired_room = room;
    return true;
}

static uint64_t hash_of(const void *ctx, uint32_t cell)
{
    return key_index_hash(cell_at(ctx, cell)->key);
}

static void fetch(const void *ctx, uint32_t cell)
{
    __builtin_prefetch(cell_at(ctx, cell));
}

struct key_index_cells row_table_cells(const struct row_table *table)
{
    return (struct key_index_cells){.hash_of = hash_of, .fetch = fetch, .ctx = table};
}

void row_table_divide_index(struct row_table *table, uint64_t more, uint64_t cells)
{
    const uint64_t left = bytes_left(table), taken = u64_min(left, cells * table->cell_bytes);
    const struct key_index_cells all = row_table_cells(table);
    key_index_divide(&table->index, more, left - taken, &all);
}

bool row_table_reserve_slot(struct row_table *table, uint64_t key)
{
    const uint64_t hash = key_index_hash(key), growth = key_index_growth(&table->index, hash);
    const struct key_index_cells all = row_table_cells(table);
    return (growth == 0 || fits(table, growth)) && key_index_reserve(&table->index, hash, &all);
}

/* ------------------------------------------------------------------------ blocks */

static bool is_kept(const struct row_table *table, const uint8_t *block)
{
    const struct cell_arena *arena = table->spec.owner.arena;
    return arena != NULL && cell_arena_has(arena, block);
}

/* Its pages take no memory yet. NULL: out of memory. */
static uint8_t *make_block(const struct row_table *table)
{
    const size_t bytes = table->cell_bytes << table->block_shift;
    const size_t rounded = (bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
    uint8_t *block = NULL;
    if (table->spec.owner.arena != NULL) {
        block =
            cell_arena_take(table->spec.owner, block_owner_of(table), (uint32_t)table->block_count);
    }
    if (block != NULL) { return block; }
    block = aligned_alloc(BLOCK_ALIGNMENT, rounded);
    /* Without huge pages it is only slower. */
    if (block != NULL) { (void)madvise(block, rounded, MADV_HUGEPAGE); }
    return block;
}

static bool add_block(struct row_table *table)
{
    uint8_t *block = make_block(table);
    if (block == NULL) { return false; }
    table->kept_blocks += is_kept(table, block);
    table->blocks[table->block_count++] = block;
    return true;
}

bool row_table_reserve_cells(struct row_table *table, uint64_t wanted)
{
    const uint64_t fresh = wanted - u64_min(wanted, table->free_count);
    const uint64_t cells = table->cells + fresh;
    const uint64_t most = u64_min(row_table_blocks_most(table) << table->block_shift, UINT32_MAX);
    if (!fits(table, fresh * table->cell_bytes) || cells > most) { return false; }
    while (table->block_count << table->block_shift < cells) {
        if (!add_block(table)) { return false; }
    }
    return true;
}

bool row_table_describe(const struct row_table *table, uint32_t *cells)
{
    *cells = (uint32_t)table->cells;
    return table->spec.owner.arena != NULL && table->kept_blocks == table->block_count;
}

void row_table_free_rows(struct row_table *table)
{
    for (uint64_t b = 0; b < table->block_count; b++) {
        if (is_kept(table, table->blocks[b])) {
            cell_arena_give(table->spec.owner.arena, table->blocks[b]);
        } else {
            free(table->blocks[b]);
        }
        table->blocks[b] = NULL;
    }
    key_index_clear(&table->index);
    table->block_count = table->kept_blocks = table->cells = table->rows = table->free_count = 0;
    table->retired_count = table->dirty_count = table->expired = table->pinned_count = 0;
    table->pinned = KEY_INDEX_NONE;
    table->first = table->last = table->live = KEY_INDEX_NONE;
}
