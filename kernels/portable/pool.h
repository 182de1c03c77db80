/*
 * kernels/portable/pool.h: max and mean pooling of x[batch][height][width][channels]. Places of a
 * window outside the image do not take part. Any window, stride and padding for which every window
 * has a place in the image.
 */
#ifndef KERNELS_PORTABLE_POOL_H
#define KERNELS_PORTABLE_POOL_H

#include <stddef.h>
#include <stdint.h>

enum { POOL_PLACES_MAX = 256 };

struct pool2d {
    size_t batch, height, width, channels;
    size_t window_height, window_width; /* At most POOL_PLACES_MAX places for a maximum. */
    size_t stride_height, stride_width;
    size_t top, left;
    size_t out_height, out_width;
};

struct pool_kernels {
    /* y = the greatest element of each window; `which` is its place, row * window width + column,
     * of the first if several are equal, or of the last NaN if there is one. */
    void (*max_forward)(const struct pool2d *pool, const float *x, float *y, uint8_t *which);
    /* dx = 0, then dy is added at the place of each maximum, in the order of the windows. */
    void (*max_backward)(const struct pool2d *pool, const float *dy, const uint8_t *which,
                         float *dx);
    /* y = the sum, in the order of places, times 1 / their number. */
    void (*mean_forward)(const struct pool2d *pool, const float *x, float *y);
    void (*mean_backward)(const struct pool2d *pool, const float *dy, float *dx);
};

#endif
