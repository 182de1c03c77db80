/*
 * ps/table/cell_arena.h: blocks of memory for the cells of tables, in memory that outlives the
 * process (P13), so that the next one finds the rows again.
 *
 * A directory in the memory has the owner of each block: a set of tables, the table, and the number
 * of the block in it. A set is the rows of one load. The owner of a block is stored last, so a
 * process that was killed leaves a block that is owned, or free. Pages of blocks take memory only
 * once they are used, and give it back when their block does, where the memory is a file.
 *
 * All that is read from the memory may be anything: it is checked before it is used.
 *
 * Threads: the owner's; cell_arena_take() and cell_arena_give() also those of the store, at the
 * same time. Nothing blocks or allocates.
 */
#ifndef PS_TABLE_CELL_ARENA_H
#define PS_TABLE_CELL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cell_arena_size {
    uint32_t blocks;
    size_t block_bytes; /* A multiple of a page. */
};

struct cell_block; /* In the memory. */

/* Zeroed: there is none. */
struct cell_arena {
    struct cell_block *directory;
    uint8_t *blocks; /* NULL: there is none. */
    struct cell_arena_size size;
    uint64_t last_set;
    bool closed;
};

/* The memory of a set of tables. `arena` NULL: the heap's. */
struct cell_owner {
    struct cell_arena *arena;
    uint64_t set;
};

/* Whole pages. */
size_t cell_arena_bytes(struct cell_arena_size size);
/* Use `memory`, which begins a page, has cell_arena_bytes() and outlives the arena. */
void cell_arena_open(struct cell_arena *arena, void *memory, struct cell_arena_size size);
/* From now on the contents stay as they are, whatever is given back. A zeroed one is allowed. */
void cell_arena_close(struct cell_arena *arena);

/* Make all blocks free that `set` does not own; 0: all. No table uses any. */
void cell_arena_keep(struct cell_arena *arena, uint64_t set);
/* A set that owns nothing yet. `arena` NULL: the heap. */
struct cell_owner cell_arena_new_set(struct cell_arena *arena);

/* A block of undefined contents for place `number` of `table`. NULL: none is free. */
void *cell_arena_take(struct cell_owner owner, uint32_t table, uint32_t number);
/* Whether the arena has this block: else the heap has. */
bool cell_arena_has(const struct cell_arena *arena, const void *block);
void cell_arena_give(struct cell_arena *arena, void *block);

/* Block `i` of the arena, and its number in `table`. NULL: another table owns it, or none. */
void *cell_arena_block(struct cell_owner owner, uint32_t table, uint32_t i, uint32_t *number);

/* The bytes, of a block of the arena, are used for the first time. They get a huge page if one
 * begins there: random rows would miss the TLB otherwise. */
void cell_arena_first_use(const struct cell_arena *arena, void *bytes, size_t size);

#endif
