/*
 * data/columns/columns.h: feature columns: how a row of a source becomes the numbers that a model
 * reads, its label or its targets. docs/data.md describes the columns for users.
 *
 * Columns are read from the job (`data.columns`, `data.label`), bound to a source, and fitted: the
 * statistics that scaling and missing values need are summed over the training rows in their order,
 * so that they have the same bits everywhere. columns_write() stores all of it, with vocabularies
 * and statistics; columns_read() gives columns that need no fitting, for evaluation, prediction and
 * export.
 *
 * Threads: read-only once fitted; any number of threads may apply them.
 */
#ifndef DATA_COLUMNS_COLUMNS_H
#define DATA_COLUMNS_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "data/source/source.h"

struct columns;

/* The JSON texts of the job's keys; "" means that the key is absent: then each column of the source
 * but the label's is a feature, as numbers. TN_EINVAL: the error names the key and the remedy;
 * TN_ENOENT, TN_EIO: the file of a vocabulary; TN_ENOMEM. */
MUST_CHECK enum tn_status columns_open(const char *columns, const char *label, struct columns **out,
                                       struct error *error);
/* Read columns from the text of columns_write(). */
MUST_CHECK enum tn_status columns_read(const char *text, struct columns **out, struct error *error);
void columns_close(struct columns *columns); /* NULL is allowed. */

/* Find the columns of `source`, which may be another source than before; with_label: also those of
 * the label. TN_EINVAL: a column is missing or has another kind. */
MUST_CHECK enum tn_status columns_bind(struct columns *columns, const struct source *source,
                                       bool with_label, struct error *error);

/* Whether rows must be added before the columns are applied. */
bool columns_need_rows(const struct columns *columns);
/* Add row `i`, which was read into `row`, to the statistics. */
MUST_CHECK enum tn_status columns_add(struct columns *columns, const struct source *source,
                                      uint64_t i, const struct source_row *row,
                                      struct error *error);
void columns_finish(struct columns *columns); /* All rows were added. */

/* The numbers of an example. The columns are bound. */
uint32_t columns_inputs(const struct columns *columns);
/* The keys of an example: those of the features of tables, in their order. */
uint32_t columns_keys(const struct columns *columns);
/* The embedded features, in the order of their inputs: an input holds the id, below `ids`; that of
 * a table is 0, and a key has its place. Fills at most `room` and returns their number. */
struct columns_embedding {
    const char *feature; /* As long as the columns. */
    uint32_t input, ids, width;
    bool table;   /* `ids` is 0: keys have 63 bits. */
    uint32_t key; /* The place among the keys, with `table`. */
};
uint32_t columns_embedded(const struct columns *columns, struct columns_embedding *out,
                          uint32_t room);
/* Decides about random changes of images while training; see data/image/augment.h. */
struct columns_draw {
    uint64_t seed, epoch, example;
};
/* The numbers of row `i`, and its keys; either may be NULL. `draw`: NULL for evaluation and
 * prediction, where images do not change. TN_EINVAL: a value is not valid; the error names its
 * place. */
MUST_CHECK enum tn_status columns_apply(const struct columns *columns, const struct source *source,
                                        uint64_t i, const struct source_row *row,
                                        const struct columns_draw *draw, float *out, int64_t *keys,
                                        struct error *error);

bool columns_have_label(const struct columns *columns);
/* The classes that a vocabulary names; 0: labels are numbers. */
uint32_t columns_classes(const struct columns *columns);
const char *columns_class_name(const struct columns *columns, uint32_t number);
/* The label of row `i`, below `classes`. */
MUST_CHECK enum tn_status columns_label(const struct columns *columns, const struct source *source,
                                        uint64_t i, const struct source_row *row, uint32_t classes,
                                        int32_t *out, struct error *error);
/* The targets of row `i`: `count` numbers, which is columns_targets_count(). */
uint32_t columns_targets_count(const struct columns *columns);
MUST_CHECK enum tn_status columns_targets(const struct columns *columns,
                                          const struct source *source, uint64_t i,
                                          const struct source_row *row, float *out,
                                          struct error *error);

/* Everything as JSON, also the statistics if they are known; malloc'ed, NULL: out of memory. */
char *columns_write(const struct columns *columns);

#endif
