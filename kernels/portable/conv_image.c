#include "kernels/portable/conv_image.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

size_t conv_group_channels(const struct conv2d *conv)
{
    return conv_is_depthwise(conv) ? conv->channels : conv->channels / conv->groups;
}

size_t conv_group_filters(const struct conv2d *conv)
{
    return conv_is_depthwise(conv) ? conv->filters : conv->filters / conv->groups;
}

static bool is_padded(const struct conv2d *conv)
{
    return conv->top + conv->left + conv->bottom + conv->right > 0;
}

bool conv_is_pointwise(const struct conv2d *conv)
{
    return conv->kernel_height * conv->kernel_width == 1 && conv->groups == 1 &&
           conv->stride_height * conv->stride_width == 1 && !is_padded(conv);
}

bool conv_is_depthwise(const struct conv2d *conv)
{
    return conv->groups > 1 && conv->groups == conv->channels && conv->channels == conv->filters;
}

size_t conv_groups(const struct conv2d *conv)
{
    return conv_is_depthwise(conv) ? 1 : conv->groups;
}

struct conv_image conv_image_of_x(const struct conv2d *conv, const float *x, size_t n, size_t group,
                                  float *workspace)
{
    const size_t channels = conv_group_channels(conv), all = conv->channels;
    x += n * conv->height * conv->width * all;
    if (channels == all && !is_padded(conv)) {
        return (struct conv_image){.data = x, .pitch = conv->width * all, .channels = all};
    }
    size_t pitch = (conv->left + conv->width + conv->right) * channels;
    size_t rows = conv->top + conv->height + conv->bottom;
    memset(workspace, 0, rows * pitch * sizeof *workspace);
    for (size_t y = 0; y < conv->height; y++) {
        const float *from = x + y * conv->width * all + group * channels;
        float *to = workspace + (conv->top + y) * pitch + conv->left * channels;
        if (channels == all) {
            memcpy(to, from, conv->width * channels * sizeof *to);
            continue;
        }
        for (size_t i = 0; i < conv->width; i++) {
            memcpy(to + i * channels, from + i * all, channels * sizeof *to);
        }
    }
    return (struct conv_image){.data = workspace, .pitch = pitch, .channels = channels};
}

struct conv_image conv_image_of_dy(const struct conv2d *conv, const float *dy, size_t n,
                                   size_t group, float *workspace)
{
    const size_t filters = conv_group_filters(conv), all = conv->filters;
    const size_t out_height = conv2d_out_height(conv), out_width = conv2d_out_width(conv);
    size_t rows = conv->height + conv->kernel_height - 1;
    size_t columns = conv->width + conv->kernel_width - 1;
    memset(workspace, 0, rows * columns * filters * sizeof *workspace);
    dy += n * out_height * out_width * all + group * filters;
    for (size_t y = 0; y < out_height; y++) {
        /* Rows and columns that only padding has seen are dropped. */
        size_t row = y * conv->stride_height + conv->kernel_height - 1;
        if (row < conv->top || row - conv->top >= rows) { continue; }
        for (size_t x = 0; x < out_width; x++) {
            size_t column = x * conv->stride_width + conv->kernel_width - 1;
            if (column < conv->left || column - conv->left >= columns) { continue; }
            float *to = workspace + ((row - conv->top) * columns + column - conv->left) * filters;
            memcpy(to, dy + (y * out_width + x) * all, filters * sizeof *to);
        }
    }
    return (struct conv_image){.data = workspace, .pitch = columns * filters, .channels = filters};
}

size_t conv_image_size(const struct conv2d *conv)
{
    size_t of_x = (conv->top + conv->height + conv->bottom) *
                  (conv->left + conv->width + conv->right) * conv_group_channels(conv);
    size_t of_dy = (conv->height + conv->kernel_height - 1) *
                   (conv->width + conv->kernel_width - 1) * conv_group_filters(conv);
    return size_max(of_x, of_dy);
}
