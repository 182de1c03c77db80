#include "model/evaluation_sum.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "graph/core/shape.h"

double evaluation_sum_floats(const float *values, uint64_t count)
{
    double sum = 0;
    if (values == NULL) { return sum; }
    for (uint64_t i = 0; i < count; i++) { sum += (double)values[i]; }
    return sum;
}

double evaluation_sum_squares(const struct tn_view *outputs, const float *targets, uint64_t count)
{
    const float *values = outputs->data;
    double sum = 0;
    if (targets == NULL) { return sum; }
    if (values == NULL || outputs->type != TN_FLOAT32 ||
        (uint64_t)shape_elements(&outputs->shape) != count) {
        return (double)NAN;
    }
    for (uint64_t i = 0; i < count; i++) {
        const double difference = (double)values[i] - (double)targets[i];
        sum += difference * difference;
    }
    return sum;
}

void evaluation_sum_add(struct evaluation_sum *sum, const struct evaluation_sum *next)
{
    sum->loss += next->loss;
    sum->correct += next->correct;
    sum->squares += next->squares;
    for (uint32_t i = 0; i < METRICS_OWN_MAX; i++) { sum->metrics[i] += next->metrics[i]; }
    sum->count += next->count;
}

double evaluation_sum_accuracy(const struct evaluation_sum *sum, bool is_classifier,
                               double target_spread)
{
    assert(sum->count >= 1);
    if (is_classifier) { return sum->correct / (double)sum->count; }
    return target_spread > 0 ? 1.0 - sum->squares / target_spread : (double)NAN;
}
