/*
 * ps/table/row_set.h: the rows that one process has of all tables of a model, at one step, with the
 * optimizer that trains them: those of a ps, or all rows of a run in one process.
 *
 * Threads: the owner's, with the exceptions of ps/table/row_table.h. Nothing blocks.
 */
#ifndef PS_TABLE_ROW_SET_H
#define PS_TABLE_ROW_SET_H

#include "common/base/error.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "kernels/optimizer/schedule.h"
#include "kernels/sparse/row_sums.h"
#include "ps/table/row_admission.h"
#include "ps/table/row_table.h"
#include "ps/table/rows_chain.h"

/* Zeroed: a model without tables. */
struct row_set {
    uint32_t count;                   /* The tables of the model. */
    uint32_t all;                     /* These, and the counts of keys behind them. */
    struct row_table **tables;        /* [all]; the first in the order of the model. Owned. */
    uint64_t *save_counts;            /* [all]: rows of the save in progress. Owned. */
    struct row_admission *admissions; /* [count]. Owned. */
    uint64_t memory_bytes;            /* The limit of all tables together; 0: none. */
    bool full_saves;                  /* As in struct row_table_spec. */
    bool exact_steps;                 /* An update of the tables is a step. Async: each slice is an
                                       * update, and they are numbered from the step loaded. */
    struct cell_owner owner;          /* As in struct row_table_spec. */
    struct rows_chain chain;          /* The files of the last save that succeeded, or of a load. */
    struct rows_chain saving;         /* Before the save in progress; its writer appends. */
    struct sparse_optimizer optimizer;
    struct schedule schedule;
};

/* Empty tables at step 0. `job` was checked. `part`, `full_saves`, `owner`: as in struct
 * row_table_spec. TN_ENOMEM: nothing is owned. */
MUST_CHECK enum tn_status row_set_open(struct row_set *set, const struct job *job,
                                       const struct variable_table *variables, struct row_part part,
                                       bool full_saves, struct cell_owner owner,
                                       struct error *error);
/* A zeroed one is allowed. */
void row_set_close(struct row_set *set);

/* row_table_row_bytes() of a table of a job that was checked. */
uint64_t row_set_row_bytes(const struct job *job, const struct row_table_shape *table);

/* The counts of keys of a table (A18). */
struct row_counts_size {
    uint64_t bytes; /* The memory of one count; 0: keys are not counted. */
    uint64_t most;  /* The keys that admit_within_steps batches can have. */
};

struct row_counts_size row_set_counts_size(const struct job *job,
                                           const struct row_table_shape *table);

/* The version of the rows that is `step`: async, the newest one. There are tables. */
uint64_t row_set_version(const struct row_set *set, uint64_t step);

/*
 * Make step + 1 with the gradients of rows; async, the next version, with the constants of `step`.
 *
 *   TN_EINVAL  cluster.table_mib does not suffice: the error names the table, its rows and bytes,
 *              and the remedy
 *   TN_ENOMEM  the memory of this machine does not suffice: the error names the table
 * After a failure the tables are of different steps, so close them.
 */
MUST_CHECK enum tn_status row_set_apply(struct row_set *set, uint64_t step,
                                        const struct row_sums *gradients, struct error *error);
/* Rows and bytes of table `table` of the model; the bytes include its counts. */
struct row_table_stats row_set_stats(const struct row_set *set, uint32_t table);
/* Versions below that of step `from` are no longer read. */
void row_set_release(struct row_set *set, uint64_t from);

/*
 * Begin a save of `step`, async of the newest rows, as checkpoint `id`, as row_table_begin_save();
 * save_counts has the numbers of rows, and `saving` the files that it continues, none if it has all
 * rows. Its writer appends its own file there, or empties `saving`: then the next save has all
 * rows. TN_ENOMEM: none is in progress.
 */
MUST_CHECK enum tn_status row_set_begin_save(struct row_set *set, uint64_t step, uint64_t id,
                                             struct error *error);
void row_set_end_save(struct row_set *set, bool committed);

/* The digest of all parameters: of `dense`, that of the variables, and of the rows of each table in
 * the order of the model (row_table_digest()). Without tables it is `dense`. TN_ENOMEM. */
MUST_CHECK enum tn_status row_set_digest(const struct row_set *set, struct digest dense,
                                         struct digest *out, struct error *error);

#endif
