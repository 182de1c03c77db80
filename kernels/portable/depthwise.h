/*
 * kernels/portable/depthwise.h: rows of a convolution in which every channel has a kernel of its
 * own. conv.h calls it; bits as there.
 */
#ifndef KERNELS_PORTABLE_DEPTHWISE_H
#define KERNELS_PORTABLE_DEPTHWISE_H

#include <stdbool.h>
#include <stddef.h>

/* One row of `width` outputs. `x` is the first place of its first window; the next window begins
 * `step` floats later, the next row of the image `pitch` floats later. */
struct depthwise_row {
    size_t width, channels, kernel_height, kernel_width, step, pitch;
    const float *x;
};

struct depthwise_kernels {
    /* y[width][channels] with weights[kernel height][kernel width][channels]; then bias and
     * relu. */
    void (*forward)(const struct depthwise_row *row, const float *weights, const float *bias,
                    bool relu, float *y);
    /* dw += the gradient of this row, columns ascending. */
    void (*backward_weights)(const struct depthwise_row *row, const float *dy, float *dw);
};

#endif
