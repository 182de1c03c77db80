/*
 * ps/kept_memory.h: memory that outlives the process of a ps, so that the next one, started by the
 * same agent, finds the values and continues where a SIGKILL ended its predecessor (P13).
 *
 * The memory begins with a head and continues with slots of one size, which hold the arrays of the
 * shard; behind them is the arena of the rows of tables, if the model has some
 * (ps/table/cell_arena.h). The head has their contents in a record, of which there are two; the
 * one that is not valid is filled, and one store makes it valid. So a reader finds either the
 * record before or the one after, never a mixture: a process that is killed has executed all its
 * stores up to some instruction and none behind it, and the fences keep the compiler from moving
 * them.
 *
 * An update in place is made by blocks. The new contents of a block are written to the head, and a
 * counter shows that; then they are copied to their place, and the counter shows that the block is
 * done. So a killed process leaves a block as it was, or all that is needed to complete it.
 *
 * All that is read from the memory may be anything: it is checked before it is used.
 *
 * Threads: the owner's. Nothing blocks, and only opening allocates.
 */
#ifndef PS_KEPT_MEMORY_H
#define PS_KEPT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/digest.h"
#include "common/cluster/manifest.h"
#include "common/cluster/variables.h"
#include "common/net/loans.h"
#include "kernels/optimizer.h"
#include "ps/losses.h"
#include "ps/table/cell_arena.h"

enum {
    KEPT_SLOTS = 48,         /* Arrays in use, of the next step, being saved and being sent. */
    KEPT_BLOCK_FLOATS = 2048 /* The largest block: its arrays stay in the first-level cache. */
};

/* The rows of tables, whose cells are in the arena. */
struct kept_rows {
    uint64_t set; /* The owner of their blocks; 0: there are none. */
    uint32_t cells[ROW_TABLES_MAX];
    uint64_t chain_count, chain_step; /* struct rows_chain. */
    struct manifest_rows chain[MANIFEST_CHAIN_MAX];
};

/* The contents of the slots, by their numbers; BUFFER_NO_SLOT: nothing. */
struct kept_record {
    uint64_t generation; /* 0: nothing is kept. */
    uint64_t run_ms;     /* When the run began that ordered to load the generation. */
    uint64_t step;       /* The step of the values. */
    uint64_t begun;      /* 1: the update of this step has begun. A part of the state is already
                          * that of the next step. */
    uint64_t updates, kept_updates;            /* The optimizer's: of `current`, of `saves`. */
    uint64_t evaluation_step, checkpoint_step; /* The steps of `evaluation` and `saves`; 0: none. */
    uint64_t save_handled;                     /* The newest save that was begun or missed. */
    uint64_t saved_checkpoint, saved_step;     /* The newest that is durable, */
    uint64_t saved_digest[2], saved_bytes;     /* and its shard. */
    uint32_t current[OPTIMIZER_ARRAYS_MAX];    /* Values and state. */
    uint32_t next[OPTIMIZER_ARRAYS_MAX];       /* The arrays that the update writes. */
    uint32_t saves[OPTIMIZER_ARRAYS_MAX];      /* The arrays of step `checkpoint_step`. */
    uint32_t answer, next_answer, previous, evaluation; /* Bodies of answers. */
    struct kept_rows rows;
};

struct kept_head; /* In the memory. */

struct kept_memory {
    struct kept_head *head;
    struct buffer_pool *slots;
    size_t slot_bytes;      /* From one slot to the next. */
    uint64_t count;         /* Floats of an array. */
    uint32_t arrays;        /* In use, of OPTIMIZER_ARRAYS_MAX. */
    struct cell_arena rows; /* Zeroed, or opened by the owner: in memory behind the slots. */
};

/* The bytes needed for slots of `slot_bytes`: a multiple of the page size. Most pages are never
 * touched. */
size_t kept_memory_bytes(size_t slot_bytes);

/* Use `memory`, which is page-aligned, has kept_memory_bytes() and outlives `kept`, for `arrays`
 * arrays of `count` floats. If it was last used under another identity, it is empty afterwards.
 * Slots that a former process has lent are held back until struct loans finds that no worker reads
 * them. False: out of memory. */
bool kept_memory_open(struct kept_memory *kept, void *memory, size_t slot_bytes, uint64_t count,
                      uint32_t arrays, struct digest identity);
/* The contents of the memory stay. All slots must have been released. A zeroed one is allowed. */
void kept_memory_close(struct kept_memory *kept);

/* The memory that a ps lends to workers of its host: the slots, in the file `fd`, whose first byte
 * is that of the memory. */
struct loan_memory kept_memory_loans(const struct kept_memory *kept, int fd);

/* The valid record. False: nothing is kept, or it contradicts itself. */
bool kept_memory_read(const struct kept_memory *kept, struct kept_record *out);
/* Make this record the valid one. If an update has begun by this record, it has changed nothing
 * yet, unless the previous record was about the same update. */
void kept_memory_write(struct kept_memory *kept, const struct kept_record *record);
/* Whether the valid record is of a begun update. */
bool kept_memory_has_begun(const struct kept_memory *kept);
/* Nothing is kept from now on. */
void kept_memory_clear(struct kept_memory *kept);

/* The floats of a begun update that are done: an update begins with the last ones. */
uint64_t kept_memory_done(const struct kept_memory *kept);
/* Where the update of a block writes what `array` gets: at most KEPT_BLOCK_FLOATS, 64-byte
 * aligned. */
float *kept_memory_block(const struct kept_memory *kept, uint32_t array);
/* The block of `count` floats before the `done` last ones, which are done, is complete: in
 * kept_memory_block() for the arrays that are changed in place, and in all others. */
void kept_memory_note_block(struct kept_memory *kept, uint64_t done, uint32_t count);
/* The floats of a block that is noted and not copied; 0: there is none. */
uint32_t kept_memory_noted(const struct kept_memory *kept);
/* Copy the noted block to those of `arrays` that are not NULL: then it is done. Does nothing if no
 * block is noted. */
void kept_memory_copy_block(struct kept_memory *kept,
                            float *const arrays[static OPTIMIZER_ARRAYS_MAX]);

/* The losses of the last steps. Only metrics use them, so they may have any contents. */
struct losses *kept_memory_losses(struct kept_memory *kept);

#endif
