/*
 * model/predictor.h: the predictions of a model for examples: probabilities of classes, or numbers.
 *
 * Use: take the fields for some examples, fill them, run, read the scores. Fields that only the
 * loss reads (labels, targets) need not be filled if the sums are ignored. The scores of an
 * example do not depend on the others. Threads: the owner's. Nothing blocks.
 */
#ifndef MODEL_PREDICTOR_H
#define MODEL_PREDICTOR_H

#include "model/training.h"

struct predictor;

struct predictor_config {
    const struct job *job;
    struct model *model;           /* Its graph gets one more output. Outlives the predictor. */
    const float *values;           /* In the order of the model's table. Outlive the predictor. */
    const char *kernels;           /* As in struct tn_program_options. */
    const struct row_source *rows; /* NULL: the model has no tables. Outlives the predictor. */
    uint32_t batch;                /* The most examples of a run. */
};

/* Rows of an example: 1, or one for each element of a sequence. */
struct predictor_shape {
    bool classes;   /* A row is the probabilities of classes; else numbers. */
    uint32_t rows;  /* Per example. */
    uint32_t width; /* The length of a row: classes, at least 2, or numbers. */
};

/* TN_EINVAL: the model names neither an output "logits" nor "outputs", or as training_open().
 * TN_ENOENT and TN_ENOMEM as training_open(). */
MUST_CHECK enum tn_status predictor_open(const struct predictor_config *config,
                                         struct predictor **out, struct error *error);
void predictor_close(struct predictor *predictor); /* NULL is allowed. */

struct predictor_shape predictor_shape(const struct predictor *predictor);

/* The memory for `count` examples, 1 to `batch`. Errors as training_open(). */
MUST_CHECK enum tn_status predictor_fields(struct predictor *predictor, uint32_t count,
                                           struct fields *out, struct error *error);

/* Predict for the `count` examples of the last predictor_fields(), and add their sums to `sum`,
 * which may be NULL. `*scores` is [count][rows][width], valid until the next run. Errors as
 * training_evaluate(). */
MUST_CHECK enum tn_status predictor_run(struct predictor *predictor, uint32_t count,
                                        struct evaluation_sum *sum, const float **scores,
                                        struct error *error);

#endif
