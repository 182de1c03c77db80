/* kernels/portable/conv.c: sizes, packing and the forward pass. */
#include "kernels/portable/conv.h"

#include <assert.h>
#include <string.h>

#include "kernels/portable/conv_image.h"

size_t conv2d_out_height(const struct conv2d *conv)
{
    assert(conv->top + conv->height + conv->bottom >= conv->kernel_height);
    size_t free_rows = conv->top + conv->height + conv->bottom - conv->kernel_height;
    return free_rows / conv->stride_height + 1;
}

size_t conv2d_out_width(const struct conv2d *conv)
{
    assert(conv->left + conv->width + conv->right >= conv->kernel_width);
    size_t free_columns = conv->left + conv->width + conv->right - conv->kernel_width;
    return free_columns / conv->stride_width + 1;
}

static size_t taps(const struct conv2d *conv)
{
    return conv->kernel_height * conv->kernel_width;
}

size_t conv2d_packed_size(const struct portable *kernels, const struct conv2d *conv)
{
    if (conv_is_depthwise(conv)) { return taps(conv) * conv->channels; }
    size_t k = taps(conv) * conv_group_channels(conv);
    return conv->groups * product_packed_size(kernels->product, k, conv_group_filters(conv));
}

size_t conv2d_packed_backward_size(const struct portable *kernels, const struct conv2d *conv)
{
    if (conv_is_depthwise(conv)) { return taps(conv) * conv->channels; }
    size_t k = taps(conv) * conv_group_filters(conv);
    return conv->groups * product_packed_size(kernels->product, k, conv_group_channels(conv));
}

size_t conv2d_pack_scratch(const struct conv2d *conv)
{
    return taps(conv) * conv_group_channels(conv) * conv_group_filters(conv);
}

size_t conv2d_workspace(const struct conv2d *conv)
{
    return conv_image_size(conv);
}

void conv2d_pack(const struct portable *kernels, const struct conv2d *conv, const float *weights,
                 float *packed)
{
    if (conv_is_depthwise(conv)) {
        memcpy(packed, weights, taps(conv) * conv->channels * sizeof *packed);
        return;
    }
    size_t k = taps(conv) * conv_group_channels(conv), filters = conv_group_filters(conv);
    for (size_t g = 0; g < conv->groups; g++) {
        kernels->product->pack(k, filters, weights + g * filters, conv->filters, 1, packed);
        packed += product_packed_size(kernels->product, k, filters);
    }
}

/* The kernel of one group turned by 180 degrees, with channels and filters exchanged: [taps]
 * [filters][channels]. */
static void turn(const struct conv2d *conv, const float *weights, size_t group, float *turned)
{
    size_t channels = conv_group_channels(conv), filters = conv_group_filters(conv);
    for (size_t tap = taps(conv); tap-- > 0;) {
        const float *from = weights + tap * channels * conv->filters + group * filters;
        for (size_t f = 0; f < filters; f++) {
            for (size_t c = 0; c < channels; c++) { *turned++ = from[c * conv->filters + f]; }
        }
    }
}

void conv2d_pack_backward(const struct portable *kernels, const struct conv2d *conv,
                          const float *weights, float *packed, float *scratch)
{
    size_t channels = conv_group_channels(conv), filters = conv_group_filters(conv);
    if (conv_is_depthwise(conv)) {
        for (size_t tap = 0; tap < taps(conv); tap++) {
            memcpy(packed + tap * channels, weights + (taps(conv) - 1 - tap) * channels,
                   channels * sizeof *packed);
        }
        return;
    }
    size_t k = taps(conv) * filters;
    for (size_t g = 0; g < conv->groups; g++) {
        turn(conv, weights, g, scratch);
        kernels->product->pack(k, channels, scratch, channels, 1, packed);
        packed += product_packed_size(kernels->product, k, channels);
    }
}

/* Windows of a row of outputs of one group: the geometry of both directions. */
struct row {
    size_t width, step; /* Outputs, and pixels from one window to the next. */
    size_t kernel_height, kernel_width;
    size_t columns, out_row; /* Columns of the product; floats from one output to the next. */
};

static void run_row(const struct portable *kernels, const struct row *row,
                    const struct conv_image *image, const float *x, const float *packed,
                    struct conv2d_epilogue epilogue, float *out)
{
    size_t w = kernels->product->panel_columns, run = row->kernel_width * image->channels;
    ptrdiff_t a_row = (ptrdiff_t)(row->step * image->channels);
    struct product task = {
        .rows = row->width,
        .columns = row->columns,
        .run = run,
        .runs = row->kernel_height,
        .a = x,
        .a_row = a_row,
        .a_group = PRODUCT_GROUP * a_row,
        .a_step = 1,
        .a_jump = (ptrdiff_t)image->pitch,
        .b = packed,
        .b_panel = run * row->kernel_height * w,
        .b_step = w,
        .b_jump = run * w,
        .out = out,
        .out_row = row->out_row,
        .bias = epilogue.bias,
        .relu = epilogue.relu,
    };
    kernels->product->run(&task);
}

static void run_depthwise(const struct portable *kernels, const struct row *row,
                          const struct conv_image *image, const float *x, const float *weights,
                          struct conv2d_epilogue epilogue, float *out)
{
    struct depthwise_row task = {
        .width = row->width,
        .channels = image->channels,
        .kernel_height = row->kernel_height,
        .kernel_width = row->kernel_width,
        .step = row->step * image->channels,
        .pitch = image->pitch,
        .x = x,
    };
    kernels->depthwise->forward(&task, weights, epilogue.bias, epilogue.relu, out);
}

static struct row forward_row(const struct conv2d *conv)
{
    return (struct row){
        .width = conv2d_out_width(conv),
        .step = conv->stride_width,
        .kernel_height = conv->kernel_height,
        .kernel_width = conv->kernel_width,
        .columns = conv_group_filters(conv),
        .out_row = conv->filters,
    };
}

/* Rows first to first + rows - 1 of the outputs of one group of an image. */
static void forward_rows(const struct portable *kernels, const struct conv2d *conv,
                         const struct conv_image *image, const float *packed,
                         struct conv2d_epilogue epilogue, size_t first, size_t rows, float *out)
{
    struct row row = forward_row(conv);
    for (size_t y = first; y < first + rows; y++, out += row.width * row.out_row) {
        const float *x = image->data + y * conv->stride_height * image->pitch;
        (conv_is_depthwise(conv) ? run_depthwise : run_row)(kernels, &row, image, x, packed,
                                                            epilogue, out);
    }
}

/* All pixels of a 1 x 1 convolution: one product. */
static void run_pointwise(const struct portable *kernels, size_t pixels, size_t channels,
                          size_t filters, const float *x, const float *packed,
                          struct conv2d_epilogue epilogue, float *y)
{
    struct product_matrix a = {.data = x, .row = channels, .column = 1};
    struct product task =
        product_packed(kernels->product, pixels, filters, channels, a, packed, y, filters);
    task.bias = epilogue.bias;
    task.relu = epilogue.relu;
    kernels->product->run(&task);
}

static struct conv2d_epilogue epilogue_of_group(const struct conv2d *conv, size_t group,
                                                struct conv2d_epilogue epilogue)
{
    if (epilogue.bias != NULL) { epilogue.bias += group * conv_group_filters(conv); }
    return epilogue;
}

/* The part of the packed weights that belongs to a group. */
static size_t packed_offset(const struct conv2d *conv, size_t group, size_t size)
{
    return group * (size / conv_groups(conv));
}

void conv2d_forward(const struct portable *kernels, const struct conv2d *conv, const float *x,
                    const float *packed, struct conv2d_epilogue epilogue, float *y,
                    float *workspace)
{
    if (conv_is_pointwise(conv)) {
        size_t pixels = conv->batch * conv->height * conv->width;
        run_pointwise(kernels, pixels, conv->channels, conv->filters, x, packed, epilogue, y);
        return;
    }
    const size_t rows = conv2d_out_height(conv), size = conv2d_packed_size(kernels, conv);
    const size_t image_size = rows * conv2d_out_width(conv) * conv->filters;
    for (size_t n = 0; n < conv->batch; n++, y += image_size) {
        for (size_t g = 0; g < conv_groups(conv); g++) {
            struct conv_image image = conv_image_of_x(conv, x, n, g, workspace);
            forward_rows(kernels, conv, &image, packed + packed_offset(conv, g, size),
                         epilogue_of_group(conv, g, epilogue), 0, rows,
                         y + g * conv_group_filters(conv));
        }
    }
}

void conv2d_forward_pooled(const struct portable *kernels, const struct conv2d *conv, size_t side,
                           const float *x, const float *packed, struct conv2d_epilogue epilogue,
                           float *y, uint8_t *which, float *workspace)
{
    const size_t width = conv2d_out_width(conv), filters = conv->filters;
    const size_t height = conv2d_out_height(conv), out = width / side * filters;
    assert(conv_groups(conv) == 1);
    assert(side >= 1);
    struct pool2d pool = {.batch = 1, .height = side, .width = width, .channels = filters};
    pool.window_height = pool.window_width = pool.stride_height = pool.stride_width = side;
    pool.out_height = 1;
    pool.out_width = width / side;
    float *before = workspace + conv2d_workspace(conv);
    for (size_t n = 0; n < conv->batch; n++) {
        struct conv_image image = conv_image_of_x(conv, x, n, 0, workspace);
        for (size_t row = 0; row + side <= height; row += side, y += out, which += out) {
            forward_rows(kernels, conv, &image, packed, epilogue, row, side, before);
            kernels->pool->max_forward(&pool, before, y, which);
        }
    }
}

void conv2d_backward_data(const struct portable *kernels, const struct conv2d *conv,
                          const float *dy, const float *packed_backward, float *dx,
                          float *workspace)
{
    const struct conv2d_epilogue none = {0};
    if (conv_is_pointwise(conv)) {
        size_t pixels = conv->batch * conv->height * conv->width;
        run_pointwise(kernels, pixels, conv->filters, conv->channels, dy, packed_backward, none,
                      dx);
        return;
    }
    const size_t size = conv2d_packed_backward_size(kernels, conv);
    const size_t channels = conv_group_channels(conv);
    struct row row = forward_row(conv);
    row.width = conv->width;
    row.step = 1;
    row.columns = channels;
    row.out_row = conv->channels;
    for (size_t n = 0; n < conv->batch; n++) {
        for (size_t g = 0; g < conv_groups(conv); g++) {
            struct conv_image image = conv_image_of_dy(conv, dy, n, g, workspace);
            const float *packed = packed_backward + packed_offset(conv, g, size);
            float *out = dx + n * conv->height * conv->width * conv->channels + g * channels;
            for (size_t y = 0; y < conv->height; y++, out += conv->width * conv->channels) {
                (conv_is_depthwise(conv) ? run_depthwise : run_row)(
                    kernels, &row, &image, image.data + y * image.pitch, packed, none, out);
            }
        }
    }
}
