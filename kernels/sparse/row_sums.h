/*
 * kernels/sparse/row_sums.h: gradients of table rows, summed by rule A12: of which only the touched
 * rows exist, with ascending keys. Sums meet along the tree of slices as dense gradients do.
 *
 * Threads: none of its own; an array of sums belongs to one thread at a time.
 */
#ifndef KERNELS_SPARSE_ROW_SUMS_H
#define KERNELS_SPARSE_ROW_SUMS_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/cluster/variables.h"
#include "kernels/sparse/rows.h"

/* The sums of one table. */
struct row_sum {
    uint32_t width;
    uint64_t count, room; /* Rows in use, and rows with memory. */
    uint64_t *keys;       /* Owned. */
    float *values;        /* [count][width]; owned. */
};

/* One for each table of a model, in its order. */
struct row_sums {
    uint32_t count;
    struct row_sum *tables; /* Owned. */
};

/* No rows of any row table of `variables`. TN_ENOMEM. */
MUST_CHECK enum tn_status row_sums_open(const struct variable_table *variables,
                                        struct row_sums *out, struct error *error);
void row_sums_close(struct row_sums *sums); /* A zeroed one is allowed. */

/* Remove all rows; the memory is kept. */
void row_sums_clear(struct row_sums *sums);

/* Memory for `rows` rows; those in use are lost. TN_ENOMEM: nothing has changed. */
MUST_CHECK enum tn_status row_sum_reserve(struct row_sum *sum, uint64_t rows, struct error *error);

/* Append a row, whose key is above those of all rows so far. `values` has the bytes of `width`
 * floats, not aligned. TN_ENOMEM: nothing has changed. */
MUST_CHECK enum tn_status row_sum_append(struct row_sum *sum, uint64_t key, const void *values,
                                         struct error *error);

struct sparse_rows row_sum_rows(const struct row_sum *sum);

/*
 * left = left + right, row by row; a row that only one has is copied, bit for bit. `spare` is
 * overwritten. All three are of one model.
 *
 *   TN_ENOMEM  `left` and `right` have not changed, but for the tables that are added already
 */
MUST_CHECK enum tn_status row_sums_add(struct row_sums *left, const struct row_sums *right,
                                       struct row_sums *spare, struct error *error);

/* Whether no number is infinite or NaN. */
bool row_sums_are_finite(const struct row_sums *sums);

#endif
