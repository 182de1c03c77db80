#include "model/metrics/numbers.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The sums of one output, or of all. `spread` is the sum of the squared deviations of the targets
 * from their mean, by Welford 1962: subtracting sums of squares would lose digits. */
struct sums {
    double absolute, squares, mean, spread;
};

struct number_metrics {
    uint32_t outputs;
    uint64_t rows;
    struct sums sums[];
};

enum tn_status number_metrics_open(uint32_t outputs, struct number_metrics **out,
                                   struct error *error)
{
    assert(outputs >= 1);
    *out = calloc(1, sizeof **out + outputs * sizeof(struct sums));
    if (*out == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for metrics of %" PRIu32 " outputs",
                         outputs);
    }
    (*out)->outputs = outputs;
    return TN_OK;
}

void number_metrics_close(struct number_metrics *metrics)
{
    free(metrics);
}

void number_metrics_add(struct number_metrics *metrics, const float *predicted,
                        const float *targets)
{
    assert(metrics != NULL && predicted != NULL && targets != NULL);
    metrics->rows++;
    for (uint32_t i = 0; i < metrics->outputs; i++) {
        struct sums *sums = &metrics->sums[i];
        const double target = (double)targets[i], difference = (double)predicted[i] - target;
        const double before = target - sums->mean;
        sums->absolute += fabs(difference);
        sums->squares += difference * difference;
        sums->mean += before / (double)metrics->rows;
        sums->spread += before * (target - sums->mean);
    }
}

static struct number_result result_of(const struct sums *sums, uint64_t numbers)
{
    const double count = (double)numbers;
    return (struct number_result){
        .mae = numbers > 0 ? sums->absolute / count : (double)NAN,
        .rmse = numbers > 0 ? sqrt(sums->squares / count) : (double)NAN,
        .r2 = sums->spread > 0 ? 1 - sums->squares / sums->spread : (double)NAN,
    };
}

struct number_result number_metrics_all(const struct number_metrics *metrics)
{
    assert(metrics != NULL);
    struct sums all = {0};
    for (uint32_t i = 0; i < metrics->outputs; i++) {
        all.absolute += metrics->sums[i].absolute;
        all.squares += metrics->sums[i].squares;
        all.spread += metrics->sums[i].spread;
    }
    return result_of(&all, metrics->rows * metrics->outputs);
}

struct number_result number_metrics_of(const struct number_metrics *metrics, uint32_t output)
{
    assert(metrics != NULL && output < metrics->outputs);
    return result_of(&metrics->sums[output], metrics->rows);
}
