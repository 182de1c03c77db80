/*
 * model/evaluation_sum.h: the sums of an evaluation over its examples, and the accuracy that
 * follows from them. All evaluations use these functions, so that they have the same bits.
 *
 * Threads: any, each with its own sums. Nothing blocks or fails.
 */
#ifndef MODEL_EVALUATION_SUM_H
#define MODEL_EVALUATION_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/metrics.h"

/* Zeroed at the start. */
struct evaluation_sum {
    double loss;
    double correct; /* The metric "accuracy"; 0 without one. */
    double squares; /* Squared differences of the output "outputs" and the targets; 0 without. */
    double metrics[METRICS_OWN_MAX]; /* Sums of the metrics that training_metric() names. */
    uint64_t count;
};

/* The sum of the values, in ascending order. 0 if `values` is NULL. */
double evaluation_sum_floats(const float *values, uint64_t count);

/* The sum of the squared differences, in ascending order. 0 if an argument is NULL. */
double evaluation_sum_squares(const float *outputs, const float *targets, uint64_t count);

/*
 * The accuracy of at least one example: the share of correct examples of a classifier, otherwise R
 * squared, 1 - squares / `target_spread`, or NaN without a spread (data/dataset.h:
 * dataset_spread()).
 */
double evaluation_sum_accuracy(const struct evaluation_sum *sum, bool is_classifier,
                               double target_spread);

#endif
