#include "model/evaluation_sum.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

double evaluation_sum_floats(const float *values, uint64_t count)
{
    double sum = 0;
    if (values == NULL) { return sum; }
    for (uint64_t i = 0; i < count; i++) { sum += (double)values[i]; }
    return sum;
}

double evaluation_sum_squares(const float *outputs, const float *targets, uint64_t count)
{
    double sum = 0;
    if (outputs == NULL || targets == NULL) { return sum; }
    for (uint64_t i = 0; i < count; i++) {
        const double difference = (double)outputs[i] - (double)targets[i];
        sum += difference * difference;
    }
    return sum;
}

double evaluation_sum_accuracy(const struct evaluation_sum *sum, bool is_classifier,
                               double target_spread)
{
    assert(sum->count >= 1);
    if (is_classifier) { return sum->correct / (double)sum->count; }
    return target_spread > 0 ? 1.0 - sum->squares / target_spread : (double)NAN;
}
