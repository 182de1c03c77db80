/*
 * kernels/cuda/row.h: sums and maxima of rows, in the order of kernels/portable/reduce.h. Private
 * to kernels/cuda/.
 *
 * LANES threads work on a row: thread l takes the elements l, l + 16, l + 32, ...; then lanes are
 * added over the tree of 8, 4, 2 and 1. A warp has two rows, and its threads shuffle together also
 * behind the last row.
 */
#ifndef KERNELS_CUDA_ROW_H
#define KERNELS_CUDA_ROW_H

#include "kernels/cuda/families.h"

enum { LANES = 16, ROW_THREADS = 128, BLOCK_ROWS = ROW_THREADS / LANES };

/* Row and lane of a thread; the row may be behind the last one. */
#define ROW  ((size_t)BLOCK * BLOCK_ROWS + THREAD / LANES)
#define LANE (THREAD % LANES)

static inline size_t row_blocks(size_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

/* The sum of the lanes, in all of them. Addition commutes, so both partners have equal bits. */
DEVICE_INLINE float lanes_sum(float x)
{
    for (uint32_t half = LANES / 2; half >= 1; half /= 2) { x = x + SHUFFLE_XOR(x, half); }
    return x;
}

/* The sum of x; `count` is 0 behind the last row. In the last vector, lanes behind the end of the
 * row take part as zeros. */
DEVICE_INLINE float sum_of(size_t count, const float *x)
{
    float sum = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) { sum = sum + (i < count ? x[i] : 0.0F); }
    return lanes_sum(sum);
}

DEVICE_INLINE float dot_of(size_t count, const float *x, const float *y)
{
    float sum = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) {
        const bool is_inside = i < count;
        sum = FMA(is_inside ? x[i] : 0.0F, is_inside ? y[i] : 0.0F, sum);
    }
    return lanes_sum(sum);
}

/* The greatest element, in the order of row_greatest() in kernels/portable/isa/row.h, which matters
 * for NaN and -0: lanes over whole vectors, then the lanes, then the rest. All threads read
 * x[0]: those that overwrite it wait for WARP_FENCE(). */
DEVICE_INLINE float greatest_of(size_t count, const float *x)
{
    const size_t whole = count - count % LANES, left = count % LANES;
    float best = count > 0 ? x[0] : 0.0F;
    for (size_t i = LANE; i < whole; i += LANES) { best = wide_greater(x[i], best); }
    const float last = LANE < left ? x[whole + LANE] : 0.0F;
    float greatest = SHUFFLE(best, THREAD % WARP - LANE);
    for (uint32_t lane = 1; lane < LANES; lane++) {
        const float other = SHUFFLE(best, THREAD % WARP - LANE + lane);
        if (other > greatest) { greatest = other; }
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const float other = SHUFFLE(last, THREAD % WARP - LANE + lane);
        if (lane < left && other > greatest) { greatest = other; }
    }
    return greatest;
}

/* The functions `softmax` and `softmax_gradient` of the table. */
CUDA_EXPORT void softmax_run(const struct cuda_softmax *rows, const float *x, float *y);
CUDA_EXPORT void softmax_run_gradient(const struct cuda_softmax *rows, const float *y,
                                      const float *dy, float *dx);

#endif
