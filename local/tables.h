/*
 * local/tables.h: the tables of a local run: their rows, the optimizer that trains them, and their
 * files beside the checkpoints, in the folder `tables` of the folder of checkpoints. Each
 * checkpoint writes one file, of all rows or of those that changed since the checkpoint before; its
 * manifest names the files that together have all rows.
 *
 * Threads: the owner's; tables_write() and tables_collect() on the saver's, between
 * tables_begin_save() and tables_end_save(). Blocking: only those two and tables_load(), on the
 * disk.
 */
#ifndef LOCAL_TABLES_H
#define LOCAL_TABLES_H

#include "common/base/error.h"
#include "common/cluster/manifest.h"
#include "common/job/job.h"
#include "model/model.h"
#include "model/slice_rows.h"
#include "ps/table/row_set.h"
#include "ps/table/rows_file.h"

/* Zeroed: a model without tables. Does not move while it is open. */
struct tables {
    struct row_set set;
    struct row_source source; /* Their rows at the current step. */
};

/* Empty tables at step 0. `job` was checked. TN_ENOMEM: nothing is owned. */
MUST_CHECK enum tn_status tables_open(struct tables *tables, const struct job *job,
                                      const struct model *model, struct error *error);
void tables_close(struct tables *tables); /* A zeroed one is allowed. */

/* Make step + 1 with the gradients of rows. Errors as row_set_apply(): the tables are then of
 * different steps, so close them. */
MUST_CHECK enum tn_status tables_apply(struct tables *tables, uint64_t step,
                                       const struct row_sums *gradients, struct error *error);

/* ---------------------------------------------------------------------------- files */

/* Begin to save the current step as checkpoint `checkpoint`, that of the manifest of
 * tables_write(). TN_ENOMEM: none is in progress. */
MUST_CHECK enum tn_status tables_begin_save(struct tables *tables, uint64_t checkpoint,
                                            struct error *error);
/* The bytes of the save in progress. */
uint64_t tables_save_bytes(const struct tables *tables, uint64_t step);
/* Write the save in progress, and add its chain to `manifest`. `dir`: the folder of checkpoints;
 * `progress`, or NULL, receives the bytes. TN_ENOENT, TN_ENOSPC, TN_EIO, TN_EINVAL: the path is too
 * long. */
MUST_CHECK enum tn_status tables_write(struct tables *tables, const char *dir,
                                       struct manifest *manifest,
                                       const struct table_progress *progress, struct error *error);
/* The save has ended. */
void tables_end_save(struct tables *tables, bool committed);

/* Remove the files of checkpoints below `below` that no manifest in `dir` names. Nothing is removed
 * while a manifest is damaged. TN_ENOMEM, TN_EIO. */
MUST_CHECK enum tn_status tables_collect(const char *dir, uint64_t below, struct error *error);

/* The files of the rows of a checkpoint, which are not looked at, to files[0..chain_count) of the
 * manifest. TN_EINVAL: a path is too long. */
MUST_CHECK enum tn_status tables_files(const char *dir, const struct manifest *manifest,
                                       struct rows_file *files, struct error *error);

/*
 * Replace the rows by those of a checkpoint.
 *
 *   TN_ECORRUPT  a file is damaged, or of another step or checkpoint: the error names it
 *   TN_ENOENT    a file is missing
 *   TN_EINVAL    the checkpoint has no rows, or those of other tables
 *   TN_EIO, TN_ENOMEM; after a failure the rows are undefined
 */
MUST_CHECK enum tn_status tables_load(struct tables *tables, const char *dir,
                                      const struct manifest *manifest, struct error *error);

#endif
