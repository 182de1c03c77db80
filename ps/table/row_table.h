/*
 * ps/table/row_table.h: the rows of one table by key, in several versions at once. A pure data
 * structure: no I/O, no clock.
 *
 * A key has at most 63 bits. A row that was never trained takes no memory: its values are a
 * function of the table's seed, the key and the column, so that reading never inserts. The others
 * are in cells: values and optimizer state of one row at one step. A published cell is never
 * written again; an update takes a fresh cell, and the index points to it:
 *
 *     index: key -> newest cell -> the one before, while a step may need it
 *     cell:  key | step it was made at | older cell | values[width] | state[]
 *
 * The values of step s are those of the newest cell whose step is at most s, or else the initial
 * ones. A floor, the smaller of what row_table_release() and the save in progress need, decides
 * which cells no step reads again; their memory is used for the next ones.
 *
 * Expiry: a row that none of the last `expire_after` updates has trained counts as never trained,
 * until one does. So the live rows of a step are a function of the gradients until then alone. The
 * newest cells are in a list in the order of their steps; from its front, rows are removed once
 * they have expired as of the floor. They are as many in a step as one update has trained.
 *
 * Saves: row_table_begin_save() fixes the rows that a file must hold, all of them or those changed
 * since the last committed save; training continues above them. A failed save leaves its rows for
 * the next one.
 *
 * The index consists of parts by a hash of the key, in a small table of one. Each grows alone, so
 * that no step waits until a large index has grown.
 *
 * Threads: the owner's, but row_table_sort_save() and row_table_saved_row() may be called on one
 * other thread between row_table_begin_save() and row_table_end_save().
 */
#ifndef PS_TABLE_ROW_TABLE_H
#define PS_TABLE_ROW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/row_owner.h"
#include "kernels/sparse/rows.h"
#include "kernels/sparse/update.h"
#include "ps/table/cell_arena.h"

enum { ROW_TABLE_NAME_MAX = 64, ROW_TABLE_WIDTH_MAX = 4096 };

struct row_table_spec {
    char name[ROW_TABLE_NAME_MAX];
    uint32_t width;
    enum sparse_kind optimizer;
    uint64_t seed;           /* The run's; the name is mixed in. */
    float scale;             /* Initial values are uniform in [-scale, scale). */
    uint64_t expire_after;   /* Updates that do not train a row until it expires; 0: it does not. */
    uint64_t memory_bytes;   /* The limit; 0: none. */
    bool full_saves;         /* All saves are of all rows: no list of changed ones is kept. */
    uint32_t number;         /* Index of the table in its model. */
    bool counts;             /* Its rows count keys of that table (ps/table/row_admission.h). */
    struct row_part part;    /* Loads take only its rows. */
    struct cell_owner owner; /* Where its cells are; it outlives the table. */
};

struct row_table;

/* An empty table at step 0. TN_ENOMEM. */
MUST_CHECK enum tn_status row_table_open(const struct row_table_spec *spec, struct row_table **out,
                                         struct error *error);
void row_table_close(struct row_table *table); /* NULL is allowed. */

/* Change `spec.memory_bytes`. Memory that is in use stays. */
void row_table_limit(struct row_table *table, uint64_t memory_bytes);

uint64_t row_table_step(const struct row_table *table);

/* The values of step `step` of keys[0..count), in any order, to out[count][width]. The step is at
 * least the floor and at most row_table_step(). */
void row_table_read(const struct row_table *table, uint64_t step, const uint64_t *keys,
                    uint64_t count, float *out);

/* Whether each of keys[0..count), in any order, has a row at the current step. */
void row_table_have(const struct row_table *table, const uint64_t *keys, uint64_t count, bool *out);

/*
 * Make the next step: apply the gradient of each of `rows`.
 *
 *   TN_ENOMEM  the limit or the memory of this machine does not suffice: nothing has changed; the
 *              error names the table, its rows and the remedy
 */
MUST_CHECK enum tn_status row_table_apply(struct row_table *table,
                                          const struct sparse_constants *constants,
                                          struct sparse_rows rows, struct error *error);

/* Steps below `from`, which is at most row_table_step(), are no longer read. */
void row_table_release(struct row_table *table, uint64_t from);

/* -------------------------------------------------------------------------- saves */

/* A row of a save: values[width] and state[] behind them, valid until the save ends. */
struct row_table_row {
    uint64_t key, step; /* `step`: the one that its last update made. */
    const float *numbers;
};

/*
 * Begin a save: of all rows as of `step`, which is at least the floor; or, without
 * `spec.full_saves`, of those that changed since the last committed save. `*count` is their number.
 * TN_ENOMEM: no save is in progress.
 */
MUST_CHECK enum tn_status row_table_begin_save(struct row_table *table, uint64_t step, bool all,
                                               uint64_t *count, struct error *error);
/* Sort the rows of the save by their keys, before the first is read. TN_ENOMEM. */
MUST_CHECK enum tn_status row_table_sort_save(const struct row_table *table, struct error *error);
/* Row `i` of the sorted save, which is below its number of rows. */
struct row_table_row row_table_saved_row(const struct row_table *table, uint64_t i);
/* committed: the file is durable, so that its rows need not be saved again until they change. */
void row_table_end_save(struct row_table *table, bool committed);

/*
 * Load: forget all rows; put those of a full file and of the deltas behind it, in their order,
 * where later rows win; then be at the step of the last one. Rows that are not of `spec.part` are
 * left out, and, at the end, those that have expired. `values` has the numbers of rows, and `steps`
 * the step of each, as in struct row_table_row; NULL: rows do not expire. Loaded rows are not saved
 * again until they change. No save is in progress. TN_ENOMEM as of row_table_apply().
 */
void row_table_begin_load(struct row_table *table);
MUST_CHECK enum tn_status row_table_load(struct row_table *table, struct sparse_rows rows,
                                         const uint64_t *steps, struct error *error);
MUST_CHECK enum tn_status row_table_end_load(struct row_table *table, uint64_t step,
                                             struct error *error);

/* ------------------------------------------------------------------- kept memory */

/*
 * A table whose cells are in an arena outlives its process. What the next one needs, beside the
 * arena, is noted when a step is complete, and is valid until the next one is. The index and all
 * lists are made again from the cells. A cell of a later step than the noted one is free, also one
 * that is half written: its step was stored first.
 */
struct row_table_kept {
    uint64_t step, floor; /* The steps that were complete, and the first that is still needed. */
    uint64_t base;  /* The step of the last committed save: later rows are in the next delta. */
    uint32_t cells; /* As row_table_describe(). */
};

/* The cells of the present step. False: some are not in the arena. */
bool row_table_describe(const struct row_table *table, uint32_t *cells);

/*
 * The rows that a former process has left in the blocks of `spec.owner`. The table is new.
 *
 *   TN_ECORRUPT  they contradict themselves
 *   TN_ENOMEM    after a failure, close the table
 */
MUST_CHECK enum tn_status row_table_recover(struct row_table *table,
                                            const struct row_table_kept *kept, struct error *error);

/* ---------------------------------------------------------------------- questions */

struct row_table_stats {
    uint64_t rows;  /* That were trained, and have not expired at the current step. */
    uint64_t cells; /* In use: more than rows where older versions are kept. */
    uint64_t bytes; /* Allocated for cells, index and lists. */
    uint64_t dirty; /* Entries of the list for the next delta, some perhaps twice. */
};
struct row_table_stats row_table_stats(const struct row_table *table);

const struct row_table_spec *row_table_spec_of(const struct row_table *table);

/* The memory of a trained row with one version, in a table of at least 100,000 rows on a ps. Its
 * share of the index, 7 to 14 bytes, is counted as 11. */
uint64_t row_table_row_bytes(uint32_t width, enum sparse_kind optimizer, bool expires);

/* The numbers of a row in a file: values and state. */
uint32_t row_table_numbers(const struct row_table *table);

/* The digest of keys and values of the rows that row_table_stats() counts, in ascending order of
 * keys. TN_ENOMEM. */
MUST_CHECK enum tn_status row_table_digest(const struct row_table *table, struct digest *out,
                                           struct error *error);

#endif
