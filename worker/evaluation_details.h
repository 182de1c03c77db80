/*
 * worker/evaluation_details.h: what an evaluation gives besides loss and accuracy: the metrics of
 * classes or numbers, which are part of the result, and for the curves of a run the confusion
 * matrix and histograms of variables and gradients (common/cluster/evaluation_file.h).
 *
 * Only what the evaluation has computed anyway is read. A failure is logged, and costs only these
 * details. Threads: the owner's. Blocking: evaluation_details_write() on the disk.
 */
#ifndef WORKER_EVALUATION_DETAILS_H
#define WORKER_EVALUATION_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/run.h"
#include "data/dataset.h"
#include "model/metrics/classes.h"
#include "model/metrics/numbers.h"
#include "model/training.h"

/* All zero: nothing was added. */
struct evaluation_details {
    struct class_metrics *classes; /* Metrics of classes, or NULL. */
    /* Metrics of numbers, or NULL. Both are NULL if the model names no output. */
    struct number_metrics *numbers;
    uint32_t width; /* Classes or numbers. */
    float *row;     /* The probabilities of a row. */
    bool failed;
};

/* The outputs of an evaluation of some examples. */
struct evaluation_outputs {
    struct tn_view logits, outputs; /* The outputs of these names; without data: none. */
};

/* The examples in `fields` were evaluated. */
void evaluation_details_add(struct evaluation_details *details,
                            const struct evaluation_outputs *given, const struct fields *fields);

/* Add the metrics of all examples, by their names, and the accuracy of classes if that is NAN: the
 * model has no metric of its own for it. */
void evaluation_details_metrics(const struct evaluation_details *details,
                                struct evaluation *evaluation);

struct evaluation_details_source {
    const char *dir; /* The run's folder. */
    const struct variable_table *variables;
    const struct dataset *test;
    const float *values;   /* For histograms; NULL: none. */
    const float *gradient; /* The same; NULL: none. */
};

void evaluation_details_write(const struct evaluation_details *details,
                              const struct evaluation_details_source *source,
                              const struct evaluation *evaluation);

void evaluation_details_close(struct evaluation_details *details);

#endif
