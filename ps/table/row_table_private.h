/* ps/table/row_table_private.h: what row_table.c and row_table_save.c share. */
#ifndef PS_TABLE_ROW_TABLE_PRIVATE_H
#define PS_TABLE_ROW_TABLE_PRIVATE_H

#include "ps/table/key_index.h"
#include "ps/table/row_table.h"

/* Cells are in blocks of huge pages: random rows would miss the TLB otherwise. Pages of a block
 * take memory when their cells are used for the first time. */
enum { BLOCK_ALIGNMENT = 2 << 20, BLOCK_BYTES_MOST = 32 << 20, CELL_BITS = 32 };

struct cell {
    uint64_t key, step;
    uint32_t older; /* KEY_INDEX_NONE: none, or freed. In a free cell the next free one. */
    float numbers[];
};

/* A cell that a newer one has replaced. */
struct retired {
    uint32_t cell, newer;
};

struct row_table {
    struct row_table_spec spec;
    uint64_t seed;        /* The one of initial values. */
    uint32_t row_numbers; /* Values and state. */
    size_t cell_bytes;
    uint64_t step, floor; /* Steps below the floor are not read. */
    uint64_t rows, cells; /* Cells ever taken: numbers 1 to `cells` exist. */
    uint32_t block_shift; /* A block has 2^block_shift cells. */
    uint64_t block_count;
    uint8_t **blocks;   /* As many as all cells need; takes memory only where it is used. */
    uint32_t free_cell; /* The first free one. */
    uint64_t free_count;
    struct key_index index;
    /* A ring, in the order in which cells were replaced. */
    struct retired *retired;
    uint64_t retired_first, retired_count, retired_room;
    /* Keys changed since the last committed save; a failed save leaves some twice. */
    uint64_t *dirty;
    uint64_t dirty_count, dirty_room;
    uint64_t mark; /* The step of the last save begun: cells up to it are listed. */
    bool saving;
    uint64_t save_dirty; /* The first keys of `dirty` that are in the save. */
    uint64_t save_count;
    struct sparse_place *save; /* `position` is a cell. Owned while saving. */
    uint32_t *found;           /* Room for row_table_apply(). */
    uint64_t found_room;
};

static inline struct cell *cell_at(const struct row_table *table, uint32_t number)
{
    const uint32_t at = number - 1;
    uint8_t *block = table->blocks[at >> table->block_shift];
    const uint32_t mask = ((uint32_t)1 << table->block_shift) - 1;
    return (struct cell *)(void *)(block + (at & mask) * table->cell_bytes);
}

/* The cell of the values of `step`, from the newest one of a key on; KEY_INDEX_NONE: it was not
 * trained until then. */
uint32_t row_table_cell_of(const struct row_table *table, uint32_t newest, uint64_t step);

/* The newest cell of a key; KEY_INDEX_NONE: it has none. */
uint32_t row_table_find(const struct row_table *table, uint64_t key);

/* Free what no step from the floor on reads, and no save. */
void row_table_collect(struct row_table *table);

#endif
