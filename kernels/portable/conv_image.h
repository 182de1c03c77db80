/*
 * kernels/portable/conv_image.h: the images that a convolution reads: in place if that is possible,
 * else a copy of one group's channels with zeros around and between. Private to conv*.c.
 */
#ifndef KERNELS_PORTABLE_CONV_IMAGE_H
#define KERNELS_PORTABLE_CONV_IMAGE_H

#include "kernels/portable/conv.h"

/* Rows `pitch` floats apart, of pixels with `channels` floats. */
struct conv_image {
    const float *data;
    size_t pitch, channels;
};

size_t conv_group_channels(const struct conv2d *conv);
size_t conv_group_filters(const struct conv2d *conv);
/* Is the convolution a plain matrix product over all pixels? */
bool conv_is_pointwise(const struct conv2d *conv);
/* Has every channel a kernel of its own? Then all channels are one group here. */
bool conv_is_depthwise(const struct conv2d *conv);
/* The number of groups that are computed one after another: 1 if depthwise. */
size_t conv_groups(const struct conv2d *conv);

/* Image `n` of x with its padding, for group `group`. */
struct conv_image conv_image_of_x(const struct conv2d *conv, const float *x, size_t n, size_t group,
                                  float *workspace);
/* Image `n` of dy, spread by the strides, with the zeros that the turned kernel needs around: for
 * pixel (i, j) of dx the window begins at (i, j). */
struct conv_image conv_image_of_dy(const struct conv2d *conv, const float *dy, size_t n,
                                   size_t group, float *workspace);
/* The number of floats of the greater copy. */
size_t conv_image_size(const struct conv2d *conv);

#endif
