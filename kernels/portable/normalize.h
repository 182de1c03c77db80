/*
 * kernels/portable/normalize.h: layer normalisation by rows.
 *
 * The bits: sums as in reduce.h; mean = sum(x) * (1 / columns); d = x - mean; rstd = 1 / sqrt(sum(d
 * d) * (1 / columns) + epsilon), where the lanes take fma(d, d, lane); y = fma(d * rstd, gain,
 * bias).
 */
#ifndef KERNELS_PORTABLE_NORMALIZE_H
#define KERNELS_PORTABLE_NORMALIZE_H

#include <stddef.h>

/* Rows without gaps. mean and rstd have one float per row; forward writes and backward reads
 * them. */
struct layer_norm {
    size_t rows, columns;
    const float *x, *gain;
    float *mean, *rstd;
};

struct normalize_kernels {
    void (*layer_forward)(const struct layer_norm *task, const float *bias, float epsilon,
                          float *y);
    /* dx = the gradient, may be `dy`; it is added to dgain and dbias, row by row. */
    void (*layer_backward)(const struct layer_norm *task, const float *dy, float *dx, float *dgain,
                           float *dbias);
};

#endif
