/*
 * worker/details.h: what an evaluation gives besides loss and accuracy: the metrics of classes or
 * numbers, which are part of the result, and for the curves of a run the confusion matrix and
 * histograms of variables and gradients (common/cluster/evaluation_file.h).
 *
 * Only what the evaluation has computed anyway is read. A failure is logged, and costs only these
 * details. Threads: the owner's. Blocking: details_write() on the disk.
 */
#ifndef WORKER_DETAILS_H
#define WORKER_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/run.h"
#include "data/dataset.h"
#include "model/metrics/classes.h"
#include "model/metrics/numbers.h"
#include "model/training.h"

/* All zero: nothing was added. */
struct details {
    struct class_metrics *classes;  /* Either these ... */
    struct number_metrics *numbers; /* ... or these. Both NULL: the model names no output. */
    uint32_t width;                 /* Classes or numbers. */
    float *row;                     /* The probabilities of a row. */
    bool failed;
};

/* The examples in `fields`, `count` of them, were evaluated. */
void details_add(struct details *details, const struct training *training,
                 const struct fields *fields, uint32_t count);

/* Add the metrics of all examples, by their names. */
void details_metrics(const struct details *details, struct metrics *metrics);

struct details_source {
    const char *dir; /* The run's folder. */
    const struct variable_table *variables;
    const struct dataset *test;
    const float *values;   /* For histograms; NULL: none. */
    const float *gradient; /* The same; NULL: none. */
};

void details_write(const struct details *details, const struct details_source *source,
                   const struct evaluation *evaluation);

void details_close(struct details *details);

#endif
