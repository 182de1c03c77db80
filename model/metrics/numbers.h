/*
 * model/metrics/numbers.h: how well numbers are predicted: mean absolute error, root of the mean
 * squared error, and R squared, of each output and of all together. The definitions are those of
 * scikit-learn; R squared of all outputs is weighted by their variance.
 *
 * Sums have a fixed order, so that equal rows in equal order give equal bits. Pure, but for memory.
 * Threads: the owner's.
 */
#ifndef MODEL_METRICS_NUMBERS_H
#define MODEL_METRICS_NUMBERS_H

#include <stdint.h>

#include "common/base/error.h"

struct number_metrics;

struct number_result {
    double mae, rmse;
    double r2; /* NAN: all targets are equal, or there are none. */
};

/* TN_ENOMEM. */
MUST_CHECK enum tn_status number_metrics_open(uint32_t outputs, struct number_metrics **out,
                                              struct error *error);
void number_metrics_close(struct number_metrics *metrics); /* NULL is allowed. */

/* Add a row of one number for each output. */
void number_metrics_add(struct number_metrics *metrics, const float *predicted,
                        const float *targets);

struct number_result number_metrics_all(const struct number_metrics *metrics);
struct number_result number_metrics_of(const struct number_metrics *metrics, uint32_t output);

#endif
