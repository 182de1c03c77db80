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
 * which cells no step reads any more; their memory is used for the next ones.
 *
 * Saves: row_table_begin_save() fixes the rows that a file must hold, all of them or those changed
 * since the last committed save; training continues above them. A failed save leaves its rows for
 * the next one.
 *
 * The index consists of parts by a hash of the key. Each grows alone, so that no step waits until
 * the whole index has grown.
 *
 * Threads: the owner's, but row_table_saved_row() may be called on another thread between
 * row_table_begin_save() and row_table_end_save().
 */
#ifndef PS_TABLE_ROW_TABLE_H
#define PS_TABLE_ROW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "kernels/sparse/rows.h"
#include "kernels/sparse/update.h"

enum { ROW_TABLE_NAME_MAX = 64, ROW_TABLE_WIDTH_MAX = 4096 };

struct row_table_spec {
    char name[ROW_TABLE_NAME_MAX];
    uint32_t width;
    enum sparse_kind optimizer;
    uint64_t seed;         /* The run's; the name is mixed in. */
    float scale;           /* Initial values are uniform in [-scale, scale). */
    uint64_t memory_bytes; /* The limit; 0: none. */
    bool full_saves;       /* All saves are of all rows: no list of changed ones is kept. */
};

struct row_table;

/* An empty table at step 0. TN_ENOMEM. */
MUST_CHECK enum tn_status row_table_open(const struct row_table_spec *spec, struct row_table **out,
                                         struct error *error);
void row_table_close(struct row_table *table); /* NULL is allowed. */

uint64_t row_table_step(const struct row_table *table);

/* The values of step `step` of keys[0..count), in any order, to out[count][width]. The step is at
 * least the floor and at most row_table_step(). */
void row_table_read(const struct row_table *table, uint64_t step, const uint64_t *keys,
                    uint64_t count, float *out);

/*
 * Make the next step: apply the gradient of each of `rows`.
 *
 *   TN_ENOMEM  the limit or the memory of this machine does not suffice: nothing has changed; the
 *              error names the table, its rows and the remedy
 */
MUST_CHECK enum tn_status row_table_apply(struct row_table *table,
                                          const struct sparse_constants *constants,
                                          struct sparse_rows rows, struct error *error);

/* Steps below `from`, which is at most row_table_step(), are not read any more. */
void row_table_release(struct row_table *table, uint64_t from);

/* -------------------------------------------------------------------------- saves */

/* A row of a save: values[width] and state[] behind them, valid until the save ends. */
struct row_table_row {
    uint64_t key;
    const float *numbers;
};

/*
 * Begin a save: of all rows as of `step`, which is at least the floor; or, without
 * `spec.full_saves`, of those of the present step that changed since the last committed save; in
 * ascending order of keys. `*count` is their number. TN_ENOMEM: no save is in progress.
 */
MUST_CHECK enum tn_status row_table_begin_save(struct row_table *table, uint64_t step, bool all,
                                               uint64_t *count, struct error *error);
/* Row `i` of the save, which is below its number of rows. */
struct row_table_row row_table_saved_row(const struct row_table *table, uint64_t i);
/* committed: the file is durable, so that its rows need not be saved again until they change. */
void row_table_end_save(struct row_table *table, bool committed);

/*
 * Load: forget all rows; put those of a full file and of the deltas behind it, in their order,
 * where later rows win; then be at the step of the last one. `values` has the numbers of rows, as
 * in struct row_table_row. Loaded rows are not saved again until they change. No save is in
 * progress. TN_ENOMEM as of row_table_apply().
 */
void row_table_begin_load(struct row_table *table);
MUST_CHECK enum tn_status row_table_load(struct row_table *table, struct sparse_rows rows,
                                         struct error *error);
void row_table_end_load(struct row_table *table, uint64_t step);

/* ---------------------------------------------------------------------- questions */

struct row_table_stats {
    uint64_t rows;  /* That were trained. */
    uint64_t cells; /* In use: more than rows where older versions are kept. */
    uint64_t bytes; /* Allocated for cells, index and lists. */
    uint64_t dirty; /* Entries of the next delta, some perhaps twice. */
};
struct row_table_stats row_table_stats(const struct row_table *table);

const struct row_table_spec *row_table_spec_of(const struct row_table *table);

/* The numbers of a row in a file: values and state. */
uint32_t row_table_numbers(const struct row_table *table);

/* The digest of keys and values of all trained rows at the present step, in ascending order of
 * keys. TN_ENOMEM. */
MUST_CHECK enum tn_status row_table_digest(const struct row_table *table, struct digest *out,
                                           struct error *error);

#endif
