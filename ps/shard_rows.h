/*
 * ps/shard_rows.h: the rows of tables that one ps has, those of its buckets
 * (common/cluster/row_owner.h); the pushed gradients of rows that wait to be applied; and which
 * steps of the rows can still be read.
 *
 * What ps/shard.h does with arrays is done here with rows: an update makes new versions of the rows
 * that it touches, and a floor determines which versions are kept. Pushed gradients are summed in
 * the order of the tree (A5, A12), so the sums do not depend on which nodes were pushed.
 *
 * A save in progress keeps its rows, also when the ps forgets them meanwhile.
 *
 * In an arena the rows outlive the process, and the next one continues with them.
 *
 * Threads: the owner's; a save and a load by the store use the tables on its thread. Nothing
 * blocks.
 */
#ifndef PS_SHARD_ROWS_H
#define PS_SHARD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/row_body.h"
#include "common/cluster/slices.h"
#include "common/cluster/table_stats.h"
#include "ps/kept_memory.h"
#include "ps/row_hits.h"
#include "ps/store/store_port.h"
#include "ps/table/row_set.h"

/* All zeros: a model without tables. The struct must not move while it is open. */
struct shard_rows {
    const struct job *job;
    const struct variable_table *variables; /* NULL: without tables. */
    struct row_part part;                   /* The rows of this ps. */
    struct cell_arena *arena;           /* Memory for the rows, as far as they fit; NULL: none. */
    struct row_set *current, *incoming; /* Owned; NULL: none. */
    struct row_set *saving; /* The rows of a save: the current set, or one that was forgotten. */
    struct row_sums slots[SLICES_MAX]; /* Pushed sums, by first slice. */
    struct row_sums spare;
    struct row_hits *hits; /* By table; owned. */
    uint64_t *loads;       /* The rows of each bucket that were looked up; owned. */
    uint64_t updates;      /* Updates that were applied since `loads` was zeroed. */
};

/* The rows of ps `index`. `job`, `variables` and `arena`, which may be NULL, outlive it.
 * TN_ENOMEM. */
MUST_CHECK enum tn_status shard_rows_open(struct shard_rows *rows, const struct job *job,
                                          const struct variable_table *variables, uint32_t index,
                                          struct cell_arena *arena, struct error *error);
/* No save is in progress on another thread. */
void shard_rows_close(struct shard_rows *rows);
/* Whether the model has tables. */
bool shard_rows_exist(const struct shard_rows *rows);

/* Move the rows of a push into slot `first`, replacing its content; `pushed` is empty
 * afterwards. */
void shard_rows_hold(struct shard_rows *rows, uint32_t first, struct row_sums *pushed);
/* Release the rows in slot `first`, or in all slots. */
void shard_rows_release(struct shard_rows *rows, uint32_t first);
void shard_rows_release_all(struct shard_rows *rows);

/* Make step + 1 with the sum of `parts`, as shard_apply(); steps from `floor` on can be read.
 * Async: make the next version with one slice of `step`; only the newest version can be read. On
 * TN_ENOMEM the rows are of different steps: the error names the table. */
MUST_CHECK enum tn_status shard_rows_apply(struct shard_rows *rows, uint64_t step, uint64_t floor,
                                           const struct slice_node *parts, uint32_t part_count,
                                           struct error *error);

/* The rows of step `step`, async the newest ones, that a valid body of a LOOKUP names, to `out`, in
 * its order. */
void shard_rows_read(const struct shard_rows *rows, uint64_t step,
                     const struct row_body_rules *rules, const struct buffer *lookup, float *out);

/* The statistics of table `table`, for observers, while there are current rows. */
struct table_stats shard_rows_stats(const struct shard_rows *rows, uint32_t table);

/* ---------------------------------------------------------------------- checkpoints */

/* Begin to save the rows of `step` as checkpoint `id`: all of them, or those that changed since the
 * save before; `*out` is for the store. No save is in progress. TN_ENOMEM. */
MUST_CHECK enum tn_status shard_rows_begin_save(struct shard_rows *rows, uint64_t step, uint64_t id,
                                                struct store_rows *out, struct error *error);
/* saved: the store has written them. Logs how many they were, and the bytes. */
void shard_rows_end_save(struct shard_rows *rows, bool saved);

/* Incoming rows: none, to be filled. TN_ENOMEM. */
MUST_CHECK enum tn_status shard_rows_begin_load(struct shard_rows *rows, struct error *error);
/* The incoming rows, for the store. */
struct store_rows shard_rows_incoming(const struct shard_rows *rows);
/* The incoming rows become the current ones. */
void shard_rows_adopt(struct shard_rows *rows);
/* Release the incoming rows, which were not adopted. */
void shard_rows_discard(struct shard_rows *rows);
void shard_rows_forget(struct shard_rows *rows); /* The current ones. */

/* ---------------------------------------------------------------------- kept memory */

/* The place of the current rows in the arena, for the next process. False: some are elsewhere. */
bool shard_rows_describe(const struct shard_rows *rows, struct kept_rows *out);
/* Take over the rows that a former process has left, as of the record's step. Nothing was loaded.
 * False: they contradict themselves, or memory is short: there are none; the reason is logged. */
bool shard_rows_recover(struct shard_rows *rows, const struct kept_record *record);

#endif
