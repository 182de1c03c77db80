/* model/onnx/images.c: convolutions and pooling. Images are [batch][channels][height][width] in the
 * file. */
#include <inttypes.h>
#include <string.h>

#include "model/onnx/node.h"

static const uint32_t channels_last[] = {0, 2, 3, 1};  /* Axes of the file, for the graph. */
static const uint32_t channels_first[] = {0, 3, 1, 2}; /* The order of the result. */
static const uint32_t filters_last[] = {2, 3, 1,
                                        0}; /* Axes of weights in the file, for the graph. */

/* The images of input 0. TN_NONE: an error. */
static tn_tensor images(struct onnx_call *call)
{
    struct onnx_value *x = onnx_tensor_any(call, 0);
    if (x == NULL) { return TN_NONE; }
    if (x->rank != 4) {
        onnx_refuse(call, "input 0 has rank %" PRIu32 ": only images, of rank 4, are supported",
                    x->rank);
        return TN_NONE;
    }
    return onnx_permuted(call->import, x, channels_last, 4);
}

/* Two numbers, of which the default is `otherwise`. */
static void pair(struct onnx_call *call, const char *name, uint32_t otherwise, uint32_t out[2])
{
    struct onnx_integers list;
    out[0] = out[1] = otherwise;
    if (!onnx_integers(call, name, &list)) { return; }
    for (uint32_t i = 0; i < 2; i++) {
        if (list.count != 2 || list.at[i] < 1 || list.at[i] > UINT16_MAX) {
            onnx_refuse(call, "attribute '%s' must have two numbers from 1 to %d", name,
                        UINT16_MAX);
            return;
        }
        out[i] = (uint32_t)list.at[i];
    }
}

static void read_pads(struct onnx_call *call, struct tn_window *window)
{
    struct onnx_integers pads;
    uint32_t *const sides[] = {&window->top, &window->left, &window->bottom, &window->right};
    if (!onnx_integers(call, "pads", &pads)) { return; }
    for (uint32_t i = 0; i < 4; i++) {
        if (pads.count != 4 || pads.at[i] < 0 || pads.at[i] > UINT16_MAX) {
            onnx_refuse(call, "attribute 'pads' must have four numbers from 0 to %d", UINT16_MAX);
            return;
        }
        *sides[i] = (uint32_t)pads.at[i];
    }
}

static struct tn_window read_window(struct onnx_call *call, uint32_t height, uint32_t width)
{
    uint32_t strides[2], dilations[2];
    char automatic[32];
    struct tn_window window = {.height = height, .width = width};
    pair(call, "strides", 1, strides);
    pair(call, "dilations", 1, dilations);
    window.stride_height = strides[0];
    window.stride_width = strides[1];
    if (dilations[0] != 1 || dilations[1] != 1) {
        onnx_refuse(call, "attribute 'dilations' is %" PRIu32 ", %" PRIu32 ": only 1 is supported",
                    dilations[0], dilations[1]);
    }
    onnx_text(call, "auto_pad", automatic);
    if (strcmp(automatic, "SAME_UPPER") == 0) {
        window.same = true;
    } else if (automatic[0] == '\0' || strcmp(automatic, "NOTSET") == 0) {
        read_pads(call, &window);
    } else if (strcmp(automatic, "VALID") != 0) {
        onnx_refuse(call, "attribute 'auto_pad' is not NOTSET, SAME_UPPER or VALID: give pads");
    }
    return window;
}

static void build_conv(struct onnx_call *call)
{
    struct onnx_value *weights = onnx_input(call, 1);
    const struct tn_shape shape =
        weights != NULL ? onnx_shape(call->import, weights) : (struct tn_shape){0};
    const int64_t groups = onnx_integer(call, "group", 1);
    uint32_t kernel[2];
    if (groups < 1 || groups > UINT16_MAX) {
        onnx_refuse(call, "attribute 'group' is %" PRId64 ": give a number from 1 to %d", groups,
                    UINT16_MAX);
        return;
    }
    if (shape.rank != 4) {
        onnx_refuse(call,
                    "the weights have rank %" PRIu32
                    ": only convolutions of images (Conv2d) are supported",
                    shape.rank);
        return;
    }
    pair(call, "kernel_shape", 0, kernel); /* Redundant: the weights have it. */
    if (kernel[0] != 0 && (kernel[0] != shape.dims[2] || kernel[1] != shape.dims[3])) {
        onnx_refuse(call, "attribute 'kernel_shape' differs from the shape of the weights");
    }
    const struct tn_window window = read_window(call, 0, 0);
    tn_tensor x = images(call);
    tn_tensor w = onnx_permuted(call->import, weights, filters_last, 4);
    tn_tensor y = tn_conv2d(call->graph, x, w, window, (uint32_t)groups);
    if (onnx_input(call, 2) != NULL) { y = tn_add(call->graph, y, onnx_tensor(call, 2)); }
    onnx_put_ordered(call, y, channels_first, 4);
}

/* Windows that do not fit at the end are left out, unless ceil_mode asks for a part of one. */
static void check_ceiling(struct onnx_call *call, tn_tensor x, const struct tn_window *window)
{
    const struct tn_shape shape = tn_shape_of(call->graph, x);
    if (onnx_integer(call, "ceil_mode", 0) == 0 || window->same || shape.rank != 4) { return; }
    const int64_t rest_y =
        (shape.dims[1] + window->top + window->bottom - window->height) % window->stride_height;
    const int64_t rest_x =
        (shape.dims[2] + window->left + window->right - window->width) % window->stride_width;
    if (rest_y == 0 && rest_x == 0) { return; }
    onnx_refuse(call, "attribute 'ceil_mode' is 1, and the windows do not fit: pad the images");
}

static struct tn_window pool_window(struct onnx_call *call, tn_tensor x)
{
    uint32_t kernel[2];
    pair(call, "kernel_shape", 0, kernel);
    if (kernel[0] == 0) { onnx_refuse(call, "attribute 'kernel_shape' is not given: give it"); }
    const struct tn_window window = read_window(call, kernel[0], kernel[1]);
    check_ceiling(call, x, &window);
    if (onnx_output_count(call) > 1) { onnx_refuse(call, "output 1 (indices) is not supported"); }
    return window;
}

static void build_max_pool(struct onnx_call *call)
{
    tn_tensor x = images(call);
    const struct tn_window window = pool_window(call, x);
    if (onnx_integer(call, "storage_order", 0) != 0) {
        onnx_refuse(call, "attribute 'storage_order' is not 0");
    }
    if (onnx_failed(call->import)) { return; }
    onnx_put_ordered(call, tn_max_pool(call->graph, x, window), channels_first, 4);
}

/* The graph's mean leaves out the padding; with count_include_pad it consists of zeros. */
static void build_average_pool(struct onnx_call *call)
{
    tn_tensor x = images(call);
    struct tn_window window = pool_window(call, x);
    const bool padded = window.top + window.left + window.bottom + window.right > 0;
    if (onnx_failed(call->import)) { return; }
    if (onnx_integer(call, "count_include_pad", 0) != 0 && (padded || window.same)) {
        if (window.same) {
            onnx_refuse(call, "attribute 'count_include_pad' is 1 with 'auto_pad': give pads");
            return;
        }
        x = tn_pad(call->graph, x, 1, window.top, window.bottom, 0);
        x = tn_pad(call->graph, x, 2, window.left, window.right, 0);
        window.top = window.left = window.bottom = window.right = 0;
    }
    onnx_put_ordered(call, tn_mean_pool(call->graph, x, window), channels_first, 4);
}

/* The result keeps the dimensions of the image, with size 1. */
static void put_global(struct onnx_call *call, tn_tensor x)
{
    const struct tn_shape shape = tn_shape_of(call->graph, x);
    if (x.v == 0) { return; }
    onnx_put(call, 0, tn_reshape(call->graph, x, TN_SHAPE(TN_BATCH, shape.dims[1], 1, 1)));
}

static void build_global_average(struct onnx_call *call)
{
    put_global(call, tn_global_mean_pool(call->graph, images(call)));
}

static void build_global_max(struct onnx_call *call)
{
    put_global(call, tn_global_max_pool(call->graph, images(call)));
}

#define WINDOW "auto_pad dilations kernel_shape pads strides "

const struct onnx_operation onnx_images[] = {
    {"Conv", build_conv, WINDOW "group ", 2, 3, NULL, NULL},
    {"MaxPool", build_max_pool, WINDOW "ceil_mode storage_order ", 1, 1, NULL, NULL},
    {"AveragePool", build_average_pool, WINDOW "ceil_mode count_include_pad ", 1, 1, NULL, NULL},
    {"GlobalAveragePool", build_global_average, "", 1, 1, NULL, NULL},
    {"GlobalMaxPool", build_global_max, "", 1, 1, NULL, NULL},
    {"ConvTranspose", NULL, "", 0, 0, NULL, "use convolutions, or a model of type \"layers\""},
    {NULL, NULL, NULL, 0, 0, NULL, NULL},
};
