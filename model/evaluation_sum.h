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
#include "tanist/tensor.h"

/* Zeroed at the start. */
struct evaluation_sum {
    double loss;
    double correct;                  /* The metric "accuracy"; 0 without one. */
    double squares;                  /* evaluation_sum_squares() of the output "outputs". */
    double metrics[METRICS_OWN_MAX]; /* Sums of the metrics that training_metric() names. */
    uint64_t count;
};

/* The sum of the values, in ascending order. 0 if `values` is NULL. */
double evaluation_sum_floats(const float *values, uint64_t count);

/* The sum of the squared differences of `outputs` and `count` targets, in ascending order; 0 if
 * `targets` is NULL. NaN: the outputs are not floats, or not one for each target. */
double evaluation_sum_squares(const struct tn_view *outputs, const float *targets, uint64_t count);

/* Add the sums of the examples that follow. */
void evaluation_sum_add(struct evaluation_sum *sum, const struct evaluation_sum *next);

/*
 * The accuracy of at least one example: the share of correct examples of a classifier, otherwise R
 * squared, 1 - squares / `target_spread`, or NaN without a spread (data/dataset.h:
 * dataset_spread()).
 */
double evaluation_sum_accuracy(const struct evaluation_sum *sum, bool is_classifier,
                               double target_spread);

#endif
