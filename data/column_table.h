/*
 * data/column_table.h: the examples of files: a part of the rows of a source, made into numbers by
 * feature columns. For jobs whose examples are rows (job_has_rows()), read from files or computed.
 *
 * Threads: read-only once it is open; any number of threads may read, each with a row of its own.
 */
#ifndef DATA_COLUMN_TABLE_H
#define DATA_COLUMN_TABLE_H

#include "common/job/job.h"
#include "data/columns/columns.h"
#include "data/dataset.h"
#include "data/source/source.h"
#include "data/split.h"

struct column_table {
    struct source source;
    struct columns *columns;
    struct split split;
    uint32_t classes; /* As job_classes(). */
    double spread;    /* As dataset_spread(); of the training split 0. */
};

/*
 * Open the files of a split. `fitted`: columns whose statistics are used; NULL: those of the
 * training split are computed. Other splits than that for training are read completely, so that an
 * evaluation cannot meet a bad row.
 *   TN_EINVAL: a row is not valid, the columns do not fit the model, or a split is empty;
 * TN_ENOENT, TN_EIO, TN_ENOSPC, TN_ENOMEM
 */
MUST_CHECK enum tn_status column_table_open(const struct job *job, enum dataset_split split,
                                            const struct columns *fitted, struct column_table **out,
                                            struct error *error);
/* Open all rows of other files. Without label, rows are not read before they are used. */
MUST_CHECK enum tn_status column_table_open_files(const struct job *job, const char *pattern,
                                                  const struct columns *fitted, bool with_label,
                                                  struct column_table **out, struct error *error);
void column_table_close(struct column_table *table); /* NULL is allowed. */

/* Read every row as an evaluation does. Errors as column_table_open(). */
MUST_CHECK enum tn_status column_table_check(const struct job *job, struct column_table *table,
                                             struct error *error);

/* Covers the rows, the columns with their statistics, and the part of the rows. */
struct digest column_table_digest(const struct column_table *table);

/* Read example `k` into the places that are not NULL. */
struct column_table_example {
    const struct columns_draw *draw; /* NULL: not for training. */
    float *inputs;
    int64_t *keys;
    int32_t *label;
    float *targets;
};
MUST_CHECK enum tn_status column_table_read(const struct column_table *table, uint64_t k,
                                            struct source_row *row,
                                            const struct column_table_example *example,
                                            struct error *error);

/* The JSON text of the label: data.label, or that of computed rows. */
const char *column_table_label(const struct job *job);

/* The files of a split alone; an error names the key of the job. */
MUST_CHECK enum tn_status column_table_open_source(const struct job *job, enum dataset_split split,
                                                   struct source *out, struct error *error);

#endif
