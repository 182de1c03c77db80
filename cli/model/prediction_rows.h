/*
 * cli/model/prediction_rows.h: the inputs of examples to predict, one after another, in the order
 * of a file: numbers as text, an array of numpy, or the data of a job.
 *
 * Threads: the owner's. Blocking: on the disk, or on stdin.
 */
#ifndef CLI_MODEL_PREDICTION_ROWS_H
#define CLI_MODEL_PREDICTION_ROWS_H

#include "common/job/job.h"
#include "model/training.h"

struct dataset;
struct prediction_rows;

/*
 * Open `path` for the model of `job`: "-" is text from stdin; a name that ends with .npy an array;
 * a folder, or a file of a job of "idx", is data of the job's type; anything else is text. `bytes`:
 * the model reads bytes, which are whole numbers from 0 to 255. `columns`: of a run with
 * data.format, the text of dataset_columns(): the files then have its format, and need no label;
 * else NULL.
 *
 *   TN_EINVAL  it does not fit the model: the error names file, line, column and what is expected
 *   TN_ENOENT, TN_EIO, TN_ENOMEM
 */
MUST_CHECK enum tn_status prediction_rows_open(const char *path, const struct job *job,
                                               const char *columns, bool bytes,
                                               struct prediction_rows **out, struct error *error);
void prediction_rows_close(struct prediction_rows *rows); /* NULL is allowed. */

/* The number of examples; 0: unknown. */
uint64_t prediction_rows_total(const struct prediction_rows *rows);

/* Write the next examples, at most `most`, to the inputs or input_bytes of `into`. `*count` is 0 at
 * the end. Errors as of prediction_rows_open(). */
MUST_CHECK enum tn_status prediction_rows_read(struct prediction_rows *rows, uint32_t most,
                                               const struct fields *into, uint32_t *count,
                                               struct error *error);

/* The data set, which names the classes; NULL: the rows are numbers without names. */
const struct dataset *prediction_rows_dataset(const struct prediction_rows *rows);

#endif
