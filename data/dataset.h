/*
 * data/dataset.h: the examples of a job, in memory, and batches gathered from them.
 *
 * The types (data.type): "idx" reads the four files of the MNIST family from the folder data.path,
 * compressed with gzip or not, with pixels scaled to [0, 1]; "text" makes windows of a file
 * (text_windows.h); "synthetic" and "matches" compute examples from the seed (synthetic.h,
 * matches.h). Pixels stay bytes in memory, which takes a quarter of the space, and become floats
 * when they are gathered. An example is a function of its number; there is no cursor.
 *
 * Threads: an open data set is read-only; any number of threads may gather from it.
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/job.h"
#include "model/training.h"

enum dataset_split { DATASET_TRAIN, DATASET_TEST };

struct dataset {
    uint32_t examples;
    uint32_t inputs, outputs; /* As in the model. */
    uint32_t labels_each;     /* Labels of an example. */
    /* Elements from an example to the next one: `inputs` and `labels_each`, or less where examples
     * overlap. */
    uint32_t input_step, label_step;
    bool targets_are_inputs; /* `targets` is NULL. */
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
void dataset_close(struct dataset *dataset); /* NULL is allowed. */

/* The digest of all examples as they are trained on, whether files were compressed or not: equal
 * digests mean equal data. About 0.1 s per GB. */
struct digest dataset_digest(const struct dataset *train, const struct dataset *test);

/* Target `output` of an example. The data set has targets. */
float dataset_target(const struct dataset *dataset, uint32_t example, uint32_t output);

/* Copy the examples indices[0..count), each below dataset->examples, into those fields that the
 * model reads. They have room for them, and the data set has them. */
void dataset_gather(const struct dataset *dataset, const uint32_t *indices, uint32_t count,
                    const struct fields *fields);

/* The same for the examples [first, first+count). */
void dataset_gather_range(const struct dataset *dataset, uint32_t first, uint32_t count,
                          const struct fields *fields);

#endif
