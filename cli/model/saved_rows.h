/*
 * cli/model/saved_rows.h: the trained rows of the tables of a checkpoint, as arrays: keys, values,
 * and the state of their optimizer, each in ascending order of the keys.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef CLI_MODEL_SAVED_ROWS_H
#define CLI_MODEL_SAVED_ROWS_H

#include "cli/model/saved_model.h"

enum saved_part {
    SAVED_KEYS,   /* int64_t [rows] */
    SAVED_VALUES, /* float [rows][width] */
    SAVED_STATE,  /* float [rows][state], as in kernels/sparse/update.h */
};

struct saved_rows_shape {
    const char *name;
    uint64_t rows;
    uint32_t width, state;
};

/* The bytes of its rows in a file: keys, values and state. */
uint64_t saved_rows_bytes(const struct saved_rows_shape *shape);

/* The shape of table number `table`, which is below `saved->model->table.row_table_count`. */
struct saved_rows_shape saved_rows_shape(const struct saved_model *saved, uint32_t table);

/* A part of the rows of a table; the caller frees `*out`. TN_ENOMEM. */
MUST_CHECK enum tn_status saved_rows_read(struct saved_model *saved, uint32_t table,
                                          enum saved_part part, void **out, struct error *error);

/* The digest of all parameters, tables included: that of the run at this step. TN_ENOMEM. */
MUST_CHECK enum tn_status saved_rows_digest(const struct saved_model *saved, struct digest *out,
                                            struct error *error);

#endif
