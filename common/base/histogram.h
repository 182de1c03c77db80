/*
 * common/base/histogram.h: how floats are distributed: their number in buckets of relative width
 * 1/8, by sign, and least, most, sum and sum of squares. Adding is a few instructions a number.
 *
 * Buckets are fixed, so that histograms of parts can be added. Pure. Threads: the owner's.
 */
#ifndef COMMON_BASE_HISTOGRAM_H
#define COMMON_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* By the bits of a float without its sign: its exponent and 3 bits of the mantissa. */
enum { HISTOGRAM_MAGNITUDES = 2048, HISTOGRAM_BUCKETS = 2 * HISTOGRAM_MAGNITUDES };

/* All zero: empty. */
struct histogram {
    uint64_t count, not_finite; /* Numbers that are not finite are in no other member. */
    double least, most, sum, squares;
    uint64_t buckets[HISTOGRAM_BUCKETS]; /* Ascending by the numbers in them. */
};

/* Count `count` numbers. */
void histogram_add(struct histogram *histogram, const float *numbers, size_t count);

/* The least number above all in `bucket`; for the last ones the greatest double. */
double histogram_limit(uint32_t bucket);

#endif
