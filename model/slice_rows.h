/*
 * model/slice_rows.h: the table rows of a slice: those that the lookups of a program want, asked
 * for once each, and the sums of their gradients.
 *
 * The positions of a table are those of its lookups in canonical order, in each example by example
 * and key by key; gradients of equal keys are added in this order (rule A12). The rows come from
 * a row source: tables in this process, or copies that ps have sent.
 *
 * Threads: one at a time. Only slice_rows_open() allocates, and sums when they grow.
 */
#ifndef MODEL_SLICE_ROWS_H
#define MODEL_SLICE_ROWS_H

#include "kernels/sparse/row_sums.h"
#include "model/model.h"
#include "tanist/program.h"

/* Where rows are. */
struct row_source {
    /* The rows of keys[0..count), ascending, none twice, of table `table` of the model, to
     * out[count][width]. */
    void (*read)(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count, float *out);
    void *ctx;
};

struct slice_rows;

/* For programs of `model`, which outlives it, with at most `examples` examples. A model without
 * lookups needs almost no memory. TN_ENOMEM. */
MUST_CHECK enum tn_status slice_rows_open(const struct model *model, uint32_t examples,
                                          struct slice_rows **out, struct error *error);
void slice_rows_close(struct slice_rows *rows); /* NULL is allowed. */
/* Its memory, in bytes, for a model with these variables. */
uint64_t slice_rows_bytes(const struct variable_table *variables, uint32_t examples);

/* Fill the rows of a program, whose keys are in its fields, before it runs. Rows of TN_KEY_NONE are
 * zeros.
 *   TN_EINVAL: a key is negative; the error names it and its table */
MUST_CHECK enum tn_status slice_rows_fill(struct slice_rows *rows, struct tn_program *program,
                                          const struct row_source *source, struct error *error);

/* Receives keys of table `table`, in the order of positions; some may be SPARSE_KEY_NONE. */
struct row_sink {
    enum tn_status (*add)(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count,
                          struct error *error);
    void *ctx;
};

/* Name the rows that slice_rows_fill() would ask for. Errors: as its own, and those of the sink. */
MUST_CHECK enum tn_status slice_rows_list(struct slice_rows *rows, const struct tn_program *program,
                                          const struct row_sink *sink, struct error *error);

/* After a run of the program that was filled last, once: the sums of the gradients of each row.
 * TN_ENOMEM. */
MUST_CHECK enum tn_status slice_rows_collect(struct slice_rows *rows,
                                             const struct tn_program *program, struct row_sums *out,
                                             struct error *error);

#endif
