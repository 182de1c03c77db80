/*
 * kernels/portable/conv.h: two-dimensional convolutions, forward and backward, without im2col: the
 * matrix product reads the image in place.
 *
 * Layouts: x[batch][height][width][channels], weights[kernel height][kernel width][channels /
 * groups][filters], y and dy[batch][out height][out width][filters].
 *
 * The bits: an output is one accumulator (product.h). Forward, k ascends over (kernel row, kernel
 * column, channel); backward by data over (row and column of the turned kernel, filter); backward
 * by weights over (image, row, column). Padding, and the gaps between strided gradients, take part
 * as zeros. The fast paths (1 x 1, depthwise) have the same bits.
 *
 * Threads: any, each on its own memory. Nothing allocates, blocks or fails.
 */
#ifndef KERNELS_PORTABLE_CONV_H
#define KERNELS_PORTABLE_CONV_H

#include <stdbool.h>

#include "kernels/portable/pool.h"
#include "kernels/portable/portable.h"

/* All sizes and strides are at least 1; `groups` divides channels and filters; the window fits the
 * padded image. */
struct conv2d {
    size_t batch, height, width, channels;
    size_t kernel_height, kernel_width, filters, groups;
    size_t stride_height, stride_width;
    size_t top, left, bottom, right; /* Zeros around the image. */
};

size_t conv2d_out_height(const struct conv2d *conv);
size_t conv2d_out_width(const struct conv2d *conv);

/* Weights are packed once per step, in both directions, and used for all slices: the number of
 * floats of each, of the scratch memory that packing `backward` needs, and the packing. */
size_t conv2d_packed_size(const struct portable *kernels, const struct conv2d *conv);
size_t conv2d_packed_backward_size(const struct portable *kernels, const struct conv2d *conv);
size_t conv2d_pack_scratch(const struct conv2d *conv);
void conv2d_pack(const struct portable *kernels, const struct conv2d *conv, const float *weights,
                 float *packed);
void conv2d_pack_backward(const struct portable *kernels, const struct conv2d *conv,
                          const float *weights, float *packed, float *scratch);

/* The number of floats of workspace that each function below needs: the greatest of them. */
size_t conv2d_workspace(const struct conv2d *conv);

/* The epilogue of the forward pass, in this order, each operation rounded by itself. */
struct conv2d_epilogue {
    const float *bias; /* [filters]. NULL: none. */
    bool relu;
};

void conv2d_forward(const struct portable *kernels, const struct conv2d *conv, const float *x,
                    const float *packed, struct conv2d_epilogue epilogue, float *y,
                    float *workspace);

/* The same followed by max pooling with a window and stride of `side` and no padding; a remainder
 * of rows and columns is dropped. The values before pooling are not stored. `which` as in pool.h.
 * Workspace: conv2d_workspace() + side * out width * filters floats. */
void conv2d_forward_pooled(const struct portable *kernels, const struct conv2d *conv, size_t side,
                           const float *x, const float *packed, struct conv2d_epilogue epilogue,
                           float *y, uint8_t *which, float *workspace);

/* dx is set. */
void conv2d_backward_data(const struct portable *kernels, const struct conv2d *conv,
                          const float *dy, const float *packed_backward, float *dx,
                          float *workspace);

/* dw is set or, with `accumulate`, continued. */
void conv2d_backward_weights(const struct portable *kernels, const struct conv2d *conv,
                             const float *x, const float *dy, bool accumulate, float *dw,
                             float *workspace);

#endif
