#include "common/base/histogram.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { SHIFT = 20, SIGN_SHIFT = 31 };

static uint32_t bucket_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    const uint32_t magnitude = bits << 1 >> (SHIFT + 1);
    return bits >> SIGN_SHIFT != 0 && bits << 1 != 0 ? HISTOGRAM_MAGNITUDES - 1 - magnitude
                                                     : HISTOGRAM_MAGNITUDES + magnitude;
}

void histogram_add(struct histogram *histogram, const float *numbers, size_t count)
{
    assert(histogram != NULL && (numbers != NULL || count == 0));
    for (size_t i = 0; i < count; i++) {
        const double number = (double)numbers[i];
        if (!isfinite(number)) {
            histogram->not_finite++;
            continue;
        }
        if (histogram->count == 0 || number < histogram->least) { histogram->least = number; }
        if (histogram->count == 0 || number > histogram->most) { histogram->most = number; }
        histogram->count++;
        histogram->sum += number;
        histogram->squares += number * number;
        histogram->buckets[bucket_of(numbers[i])]++;
    }
}

/* Where numbers of this magnitude begin. */
static double begin_of(uint32_t magnitude)
{
    const uint32_t bits = magnitude << SHIFT;
    float number;
    memcpy(&number, &bits, sizeof number);
    return isfinite(number) ? (double)number : DBL_MAX;
}

double histogram_limit(uint32_t bucket)
{
    assert(bucket < HISTOGRAM_BUCKETS);
    if (bucket >= HISTOGRAM_MAGNITUDES) {
        const uint32_t magnitude = bucket - HISTOGRAM_MAGNITUDES + 1;
        return magnitude < HISTOGRAM_MAGNITUDES ? begin_of(magnitude) : DBL_MAX;
    }
    /* A negative bucket ends where its magnitude begins. */
    return -begin_of(HISTOGRAM_MAGNITUDES - 1 - bucket);
}
