/*
 * data/dataset.h: the examples of a job and batches gathered from them.
 *
 * The types (data.type): "idx" reads the four files of the MNIST family from the folder data.path,
 * compressed with gzip or not, with pixels scaled to [0, 1]; "text" makes windows of a file
 * (text_windows.h); "synthetic" and "matches" compute examples from the seed (synthetic.h,
 * matches.h). Pixels stay bytes in memory, which takes a quarter of the space, and become floats
 * when they are gathered. Jobs with data.format read files with columns (column_table.h), and
 * "criteo-like" computes such rows (criteo.h), which
 * need no memory of their size. An example is a function of its number, without a cursor.
 *
 * Threads: an open data set is read-only; any number of threads may gather from it.
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/job/job.h"
#include "model/training.h"

enum dataset_split { DATASET_TRAIN, DATASET_TEST, DATASET_VALIDATION };

struct column_table;

struct dataset {
    uint64_t examples;
    uint32_t inputs, outputs; /* As in the model. */
    uint32_t labels_each;     /* Labels of an example. */
    uint32_t keys_each;       /* Keys of tables; 0: it has none. */
    /* Elements from an example to the next one: `inputs` and `labels_each`, or less where examples
     * overlap. */
    uint32_t input_step, label_step;
    bool targets_are_inputs;    /* `targets` is NULL. */
    struct column_table *table; /* Owned; NULL: the examples are in memory, as below. */
    /* One array of each pair is owned; the other is NULL. */
    uint8_t *input_bytes; /* Pixels: value / 255; or ids. */
    float *input_floats;
    uint8_t *labels; /* Each below job_classes(). */
    float *targets;  /* [examples][outputs] */
};

/*
 * Load one split for the job's model. Blocks on the disk, 0.2 s for Fashion-MNIST.
 *
 *   TN_ENOENT    a file or the folder does not exist; the error names it and the remedy
 *   TN_EINVAL    the data do not fit model.inputs or model.outputs, data.type is unknown, a file is
 *                damaged, or the numbers of labels and images differ
 *   TN_EIO, TN_ENOMEM
 */
MUST_CHECK enum tn_status dataset_open(const struct job *job, enum dataset_split split,
                                       struct dataset **out, struct error *error);
/* Open another split of the job of `train`, whose statistics of columns it uses. */
MUST_CHECK enum tn_status dataset_open_beside(const struct job *job, enum dataset_split split,
                                              const struct dataset *train, struct dataset **out,
                                              struct error *error);
/*
 * The test set of a job with rows, or the rows of other files, for a model that was trained:
 * by the columns and statistics of its run.
 */
struct dataset_stored {
    const char *columns; /* The text of dataset_columns(). */
    const char *pattern; /* The files, in the job's format; NULL: those of `split`. */
    enum dataset_split split;
    bool with_label; /* Else the files need no label, and examples have inputs alone. */
};
MUST_CHECK enum tn_status dataset_open_stored(const struct job *job,
                                              const struct dataset_stored *stored,
                                              struct dataset **out, struct error *error);
void dataset_close(struct dataset *dataset); /* NULL is allowed. */

/* The digest of all examples as they are trained on, whether files were compressed or not: equal
 * digests mean equal data. About 0.1 s per GB. */
struct digest dataset_digest(const struct dataset *train, const struct dataset *evaluated);

/* Whether the examples have this. */
bool dataset_has_labels(const struct dataset *dataset);
bool dataset_has_targets(const struct dataset *dataset);
bool dataset_has_bytes(const struct dataset *dataset);

/* The squared deviations of the targets from their means; 0: there are none. Of a table, of another
 * split than that for training. */
double dataset_spread(const struct dataset *dataset);

/* The best possible area under the ROC curve of the examples, where the data are drawn from a model
 * that is known; else NAN. */
double dataset_best_area(const struct dataset *dataset);

/* The place of examples in training, for random changes of images: their epochs are those of the
 * positions from `position` on, as in data/shuffle.h. */
struct dataset_pass {
    uint64_t seed, position;
};

/* Copy the examples indices[0..count), each below dataset->examples, into those fields that the
 * model reads. They have room for them, and the data set has them. `pass`: NULL if they are not
 * trained on.
 *   TN_EINVAL: a row of a file is not valid, the error names its place; TN_EIO, TN_ENOMEM */
MUST_CHECK enum tn_status dataset_gather(const struct dataset *dataset, const uint64_t *indices,
                                         uint32_t count, const struct dataset_pass *pass,
                                         const struct fields *fields, struct error *error);

/* Let the fields begin `count` examples later. */
void dataset_skip(const struct dataset *dataset, uint32_t count, struct fields *fields);

/* The same for the examples [first, first+count). */
MUST_CHECK enum tn_status dataset_gather_range(const struct dataset *dataset, uint64_t first,
                                               uint32_t count, const struct fields *fields,
                                               struct error *error);

/* The feature columns with the statistics of the training set, as columns_write() has them;
 * malloc'ed. NULL: the data have none. TN_ENOMEM. */
MUST_CHECK enum tn_status dataset_columns(const struct dataset *dataset, char **out,
                                          struct error *error);

/* The name that data.label gives a class; NULL: it has none. */
const char *dataset_class_name(const struct dataset *dataset, uint32_t class);

const char *dataset_split_name(enum dataset_split split);
bool dataset_has_validation(const struct job *job);
/* The split of evaluations while training: that for validation if the job has one, else the test
 * set. */
enum dataset_split dataset_evaluated_split(const struct job *job);

#endif
