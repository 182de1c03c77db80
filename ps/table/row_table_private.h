/* ps/table/row_table_private.h: what the files row_table*.c share. */
#ifndef PS_TABLE_ROW_TABLE_PRIVATE_H
#define PS_TABLE_ROW_TABLE_PRIVATE_H

#include "common/base/minmax.h"
#include "common/cluster/variables.h"
#include "ps/table/key_index.h"
#include "ps/table/row_table.h"

/* Cells are in blocks of huge pages: random rows would miss the TLB otherwise. Pages of a block
 * take memory when their cells are used for the first time. BLOCKS_MOST blocks of that size are
 * more than any machine has memory for; tests have small ones. */
enum {
    BLOCK_ALIGNMENT = 2 << 20,
    BLOCK_BYTES_MOST = 32 << 20,
    BLOCKS_MOST = 1 << 20,
    CELL_BITS = 32
};

/* The step is stored first: so a process that was killed leaves no cell that has a step that was
 * complete and the contents of another one. */
struct cell {
    uint64_t key, step;
    uint32_t older; /* KEY_INDEX_NONE: none. Freed once `step` is not above the floor. */
    float numbers[];
};

/* Behind the numbers of a cell, if rows expire: its neighbours among the newest cells, in the order
 * of their steps; KEY_INDEX_NONE: none. Made again by row_table_order(). */
struct links {
    uint32_t before, after;
};

/* The step of a cell that row_table_recover() has made free. */
#define CELL_FREE UINT64_MAX

/* A cell that a newer one, of `step`, has replaced. */
struct retired {
    uint64_t step;
    uint32_t cell;
};

struct row_table {
    struct row_table_spec spec;
    uint64_t seed;        /* The one of initial values. */
    uint32_t row_numbers; /* Values and state. */
    size_t cell_bytes;
    uint64_t step, floor; /* Steps below the floor are not read. */
    uint64_t rows, cells; /* Cells ever taken: numbers 1 to `cells` exist. */
    /* If rows expire: all newest cells; the first that has not expired at the current step, and the
     * number of those before it, which are not among `rows`. */
    uint32_t first, last, live;
    uint64_t expired;
    uint32_t block_shift;              /* A block has 2^block_shift cells. */
    uint64_t block_count, kept_blocks; /* `kept_blocks`: of these, in the arena. */
    /* [row_table_blocks_most()]: it never moves, as another thread may read rows that are saved.
     * Takes memory only where it is used. */
    uint8_t **blocks;
    uint32_t *free_cells; /* Not a list through the cells: those to be taken are fetched ahead. */
    uint64_t free_count, free_room;
    struct key_index index;
    /* A ring, in the order in which cells were replaced. */
    struct retired *retired;
    uint64_t retired_first, retired_count, retired_room;
    /* Keys changed since the last committed save. Not used if rows expire: then they are those of
     * the last newest cells. */
    uint64_t *dirty;
    uint64_t dirty_count, dirty_room;
    bool twins;    /* Some keys may be in it twice. */
    uint64_t mark; /* The current step when the last save began: cells up to it are listed. */
    uint64_t base; /* The step of the last committed save: a delta has the cells above it. */
    bool saving;
    uint64_t save_step;
    uint64_t save_dirty; /* The first keys of `dirty` that are in the save. */
    uint64_t save_count;
    /* Cells that only the save needs: a list through `older`, which no step reads again. */
    uint32_t pinned;
    uint64_t pinned_count;
    struct sparse_place *save; /* `position` is a cell. Sorted by row_table_sort_save(). */
    uint32_t *found;           /* Room for row_table_apply(). */
    uint64_t found_room;
};

/* As many as all cells need, or BLOCKS_MOST. */
static inline uint64_t row_table_blocks_most(const struct row_table *table)
{
    return u64_min((uint64_t)1 << (CELL_BITS - table->block_shift), BLOCKS_MOST);
}

static inline struct cell *cell_at(const struct row_table *table, uint32_t number)
{
    const uint32_t at = number - 1;
    uint8_t *block = table->blocks[at >> table->block_shift];
    const uint32_t mask = ((uint32_t)1 << table->block_shift) - 1;
    return (struct cell *)(void *)(block + (at & mask) * table->cell_bytes);
}

static inline struct links *links_of(const struct row_table *table, uint32_t number)
{
    return (struct links *)(void *)(cell_at(table, number)->numbers + table->row_numbers);
}

/* The place in the ring of the i-th cell, or of the one behind all of them. */
static inline uint64_t retired_place(const struct row_table *table, uint64_t i)
{
    const uint64_t place = table->retired_first + i;
    return place < table->retired_room ? place : place - table->retired_room;
}

/* At `step`, if no later update has trained it. */
static inline bool has_expired(const struct row_table *table, uint32_t number, uint64_t step)
{
    const uint64_t most = table->spec.expire_after;
    return most > 0 && step >= most && cell_at(table, number)->step <= step - most;
}

/* The owner of its blocks in the arena: counts are not a table of the model. */
static inline uint32_t block_owner_of(const struct row_table *table)
{
    return table->spec.number + (table->spec.counts ? ROW_TABLES_MAX : 0);
}

/* The cell of the values of `step`, from the newest one of a key on; KEY_INDEX_NONE: it was not
 * trained until then, or has expired. */
uint32_t row_table_cell_of(const struct row_table *table, uint32_t newest, uint64_t step);

/* The newest cell of a key; KEY_INDEX_NONE: it has none. */
uint32_t row_table_find(const struct row_table *table, uint64_t key);

/* Keys that are looked up together, so that their cache lines are fetched at the same time. */
enum { ROW_TABLE_GROUP = 32 };
/* The newest cells of at most ROW_TABLE_GROUP keys, of which the caller uses the first `bytes`. */
void row_table_find_group(const struct row_table *table, const uint64_t *keys, uint64_t count,
                          size_t bytes, uint32_t *cells);

/* Free what no step from the floor on reads, and no save. */
void row_table_collect(struct row_table *table);
/* Free a cell that no step reads, or pin it if the save in progress needs it: one of `replaced`,
 * the step of the next one of its key. Room for it was reserved. */
void row_table_free_cell(struct row_table *table, uint32_t cell, uint64_t replaced);
/* The save has ended: free the pinned cells. */
void row_table_unpin(struct row_table *table);

/* ------------------------------------------------------------ row_table_expiry.c */

/* `fresh`, of a step that is not below that of any other, has replaced `old` as the newest cell of
 * its key. KEY_INDEX_NONE: it had none. */
void row_table_renew(struct row_table *table, uint32_t old, uint32_t fresh);
/* Fetch what row_table_renew() uses of a cell that was fetched. */
void row_table_fetch_links(const struct row_table *table, uint32_t old);
/* The rows that expire at the next step if it does not train them. */
uint64_t row_table_expiring(const struct row_table *table);
/* The current step is another one: count the rows that expire at it. */
void row_table_expire(struct row_table *table);
/* Remove the rows that have expired at `floor`. Room for their cells was reserved. */
void row_table_remove_expired(struct row_table *table, uint64_t floor);
/* The rows that changed after `base`. */
uint64_t row_table_count_changed(const struct row_table *table);
/* Make the list from the index, count the rows, and remove the expired ones. False: out of
 * memory. */
bool row_table_order(struct row_table *table);

/* ------------------------------------------------------------ row_table_memory.c */

uint64_t row_table_bytes(const struct row_table *table);
/* TN_ENOMEM: `wanted` more bytes are not available. */
enum tn_status row_table_refuse(const struct row_table *table, uint64_t wanted,
                                struct error *error);

/* Room for `wanted` elements of a list, which doubles; for `more` retired cells; for `wanted`
 * cells; for a key of the index. False: neither limit nor memory suffice. */
bool row_table_reserve_list(const struct row_table *table, void **list, size_t size, uint64_t *room,
                            uint64_t wanted);
bool row_table_reserve_retired(struct row_table *table, uint64_t more);
bool row_table_reserve_cells(struct row_table *table, uint64_t wanted);
bool row_table_reserve_slot(struct row_table *table, uint64_t key);
/* `more` slots will be reserved, and none is: make the index fit for their number, if the limit
 * leaves room for this many cells beside it. */
void row_table_divide_index(struct row_table *table, uint64_t more, uint64_t cells);
/* For key_index.h. */
struct key_index_cells row_table_cells(const struct row_table *table);
/* Forget all rows. */
void row_table_free_rows(struct row_table *table);

#endif
