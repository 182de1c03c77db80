/*
 * kernels/portable/reduce.h: sums and maxima.
 *
 * The bits: a sum over neighbours has 16 lanes. Lane i adds the elements i, i + 16, i + 32, ... in
 * this order, from +0; then lanes i and i + 8 are added, then i + 4, i + 2 and i + 1. A sum over
 * rows adds row 0, 1, 2, ... in each column.
 */
#ifndef KERNELS_PORTABLE_REDUCE_H
#define KERNELS_PORTABLE_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

struct reduce_kernels {
    float (*sum)(size_t count, const float *x);
    /* The greatest element; count >= 1. If an element is a NaN, the result is one of the
     * elements. */
    float (*greatest)(size_t count, const float *x);
    /* The sum of x[i] y[i], in lanes of doubles: for norms. `y` may be `x`. */
    double (*dot)(size_t count, const float *x, const float *y);
    /* out[c] = matrix[0][c] + matrix[1][c] + ..., from +0 or, with `accumulate`, from out[c]. Rows
     * are `stride` floats apart. */
    void (*sum_rows)(size_t rows, size_t columns, const float *matrix, size_t stride,
                     bool accumulate, float *out);
    /* out[r] = sum(matrix[r]). */
    void (*sum_columns)(size_t rows, size_t columns, const float *matrix, size_t stride,
                        float *out);
};

#endif
