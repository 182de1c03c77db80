/*
 * ps/table/row_admission.h: which keys of a table get a row (rule A18). A key without a row is
 * counted by each update that touches it, and gets one by the `after`-th, which is the first that
 * trains it. Gradients of the updates before are dropped, so lookups return the initial values.
 *
 * The counts are the rows of a table of their own, beside the rows, of one value: their versions,
 * files and kept memory are those of every table. Counts that no update has touched for some steps
 * expire as rows do, which bounds their memory.
 *
 * Threads: the owner's.
 */
#ifndef PS_TABLE_ROW_ADMISSION_H
#define PS_TABLE_ROW_ADMISSION_H

#include "common/job/job.h"
#include "ps/table/row_table.h"

/* Zeroed: every key gets a row by the first update that touches it. */
struct row_admission {
    uint64_t after;
    struct row_table *counts; /* Outlives it. NULL: zeroed. */
    /* Room for row_admission_choose(), in rows. Owned. */
    uint64_t room;
    bool *present;
    uint64_t *keys, *counted_keys;
    float *values, *seen, *changes;
};

/* The table of the counts for the table `spec`, at step 0. TN_ENOMEM. */
MUST_CHECK enum tn_status row_admission_open(struct row_admission *admission,
                                             const struct job_table_rule *rule,
                                             const struct row_table_spec *spec,
                                             struct row_table **counts, struct error *error);
/* The table of the counts stays. A zeroed one is allowed. */
void row_admission_close(struct row_admission *admission);

/*
 * Divide the gradients of the update that makes the next step of `rows`: `admitted` are those to
 * apply to it, and `counted` those to apply to the counts, by row_admission_constants(). Both are
 * valid until the next call. TN_ENOMEM.
 */
MUST_CHECK enum tn_status row_admission_choose(struct row_admission *admission,
                                               const struct row_table *rows,
                                               struct sparse_rows gradients,
                                               struct sparse_rows *admitted,
                                               struct sparse_rows *counted, struct error *error);
struct sparse_constants row_admission_constants(void);

/* The memory of the count of a key, as row_table_row_bytes(). */
uint64_t row_admission_count_bytes(void);

#endif
