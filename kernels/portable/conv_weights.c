/* kernels/portable/conv_weights.c: the gradient of a convolution's weights (conv.h). */
#include <string.h>

#include "kernels/portable/conv.h"
#include "kernels/portable/conv_image.h"

/* All pixels of a 1 x 1 convolution: dw = x' dy. */
static void pointwise(const struct portable *kernels, const struct conv2d *conv, const float *x,
                      const float *dy, bool accumulate, float *dw)
{
    size_t pixels = conv->batch * conv->height * conv->width;
    struct product_matrix a = {.data = x, .row = 1, .column = conv->channels};
    struct product task = product_plain(kernels->product, conv->channels, conv->filters, pixels, a,
                                        dy, conv->filters, dw, conv->filters);
    task.accumulate = accumulate;
    kernels->product->run(&task);
}

static void depthwise(const struct portable *kernels, const struct conv2d *conv,
                      const struct conv_image *image, const float *dy, float *dw)
{
    struct depthwise_row row = {
        .width = conv2d_out_width(conv),
        .channels = conv->channels,
        .kernel_height = conv->kernel_height,
        .kernel_width = conv->kernel_width,
        .step = conv->stride_width * conv->channels,
        .pitch = image->pitch,
        .x = image->data,
    };
    for (size_t y = 0; y < conv2d_out_height(conv); y++) {
        kernels->depthwise->backward_weights(&row, dy, dw);
        row.x += conv->stride_height * image->pitch;
        dy += row.width * conv->channels;
    }
}

/* The rows of dw are the places (kernel row, kernel column, channel); k runs over the pixels. For
 * one kernel row the places are neighbours in the image. */
static void general(const struct portable *kernels, const struct conv2d *conv,
                    const struct conv_image *image, const float *dy, bool accumulate, float *dw)
{
    size_t out_width = conv2d_out_width(conv), places = conv->kernel_width * image->channels;
    struct product task = {
        .rows = places,
        .columns = conv_group_filters(conv),
        .run = out_width,
        .runs = conv2d_out_height(conv),
        .a = image->data,
        .a_row = 1,
        .a_group = PRODUCT_GROUP,
        .a_step = (ptrdiff_t)(conv->stride_width * image->channels),
        .a_jump = (ptrdiff_t)(conv->stride_height * image->pitch),
        .b = dy,
        .b_panel = kernels->product->panel_columns,
        .b_step = conv->filters,
        .b_jump = out_width * conv->filters,
        .out = dw,
        .out_row = conv->filters,
        .accumulate = accumulate,
    };
    if (places == PRODUCT_GROUP) { /* The kernel's rows are the groups of one product. */
        task.rows = conv->kernel_height * places;
        task.a_group = (ptrdiff_t)image->pitch;
        kernels->product->run(&task);
        return;
    }
    for (size_t ky = 0; ky < conv->kernel_height; ky++) {
        kernels->product->run(&task);
        task.a += image->pitch;
        task.out += places * conv->filters;
    }
}

void conv2d_backward_weights(const struct portable *kernels, const struct conv2d *conv,
                             const float *x, const float *dy, bool accumulate, float *dw,
                             float *workspace)
{
    if (conv_is_pointwise(conv)) {
        pointwise(kernels, conv, x, dy, accumulate, dw);
        return;
    }
    const size_t image_size = conv2d_out_height(conv) * conv2d_out_width(conv) * conv->filters;
    bool is_depthwise = conv_is_depthwise(conv);
    if (is_depthwise && !accumulate) {
        memset(dw, 0, conv->kernel_height * conv->kernel_width * conv->channels * sizeof *dw);
    }
    for (size_t n = 0; n < conv->batch; n++, dy += image_size) {
        for (size_t g = 0; g < conv_groups(conv); g++) {
            struct conv_image image = conv_image_of_x(conv, x, n, g, workspace);
            size_t at = g * conv_group_filters(conv);
            if (is_depthwise) {
                depthwise(kernels, conv, &image, dy, dw);
            } else {
                general(kernels, conv, &image, dy + at, accumulate || n > 0, dw + at);
            }
        }
    }
}
