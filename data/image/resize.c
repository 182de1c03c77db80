/* Resizing in two passes, along rows and then along columns, with weights in fixed point. Source of
 * the method: Pillow, src/libImaging/Resample.c. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/image/image.h"

enum { WEIGHT_BITS = 32 - 8 - 2 };

/* For each new pixel: where its old pixels begin, how many they are, and their weights. */
struct weights {
    uint32_t most; /* Old pixels of a new one. */
    uint32_t *first, *count;
    int32_t *weight; /* [new pixels][most] */
};

static void free_weights(struct weights *weights)
{
    free(weights->first);
    free(weights->count);
    free(weights->weight);
}

static double triangle(double x)
{
    x = x < 0 ? -x : x;
    return x < 1 ? 1 - x : 0;
}

/* Weights of one new pixel, whose sum is 1 in fixed point, up to rounding. */
static void weigh(double middle, double inverse, uint32_t first, uint32_t count, double *scratch,
                  int32_t *out)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        scratch[i] = triangle(((double)(i + first) - middle + 0.5) * inverse);
        sum += scratch[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const double weight = sum != 0 ? scratch[i] / sum : scratch[i];
        out[i] = (int32_t)(0.5 + weight * (1 << WEIGHT_BITS));
    }
}

static bool make_weights(uint32_t from, uint32_t to, struct weights *out)
{
    const double scale = (double)from / to, reach = double_max(scale, 1);
    out->most = 2 * (uint32_t)(reach + 1) + 1;
    out->first = calloc(to, sizeof *out->first);
    out->count = calloc(to, sizeof *out->count);
    out->weight = calloc((size_t)to * out->most, sizeof *out->weight);
    double *scratch = calloc(out->most, sizeof *scratch);
    const bool whole =
        out->first != NULL && out->count != NULL && out->weight != NULL && scratch != NULL;
    for (uint32_t i = 0; whole && i < to; i++) {
        const double middle = (i + 0.5) * scale, low = middle - reach + 0.5;
        const uint32_t first = low > 0 ? (uint32_t)low : 0;
        const uint32_t end = u32_min((uint32_t)(middle + reach + 0.5), from);
        assert(end > first && end - first <= out->most);
        out->first[i] = first;
        out->count[i] = end - first;
        weigh(middle, 1 / reach, first, end - first, scratch, out->weight + (size_t)i * out->most);
    }
    free(scratch);
    return whole;
}

/* A new pixel of old ones that are `step` bytes apart. */
static uint8_t mix(const uint8_t *pixels, size_t step, uint32_t count, const int32_t *weight)
{
    int32_t sum = 1 << (WEIGHT_BITS - 1);
    for (uint32_t i = 0; i < count; i++) { sum += pixels[i * step] * weight[i]; }
    const int32_t value = sum >> WEIGHT_BITS; /* Weights are not negative. */
    return value > 255 ? 255 : (uint8_t)value;
}

/* Rows of `box` become `width` pixels wide. */
static void along_rows(const uint8_t *pixels, struct image_shape shape, struct image_box box,
                       const struct weights *weights, uint32_t width, uint8_t *out)
{
    const uint32_t channels = shape.channels;
    for (uint32_t y = 0; y < box.height; y++) {
        const uint8_t *row = pixels + ((size_t)(box.top + y) * shape.width + box.left) * channels;
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < channels; c++) {
                *out++ = mix(row + (size_t)weights->first[x] * channels + c, channels,
                             weights->count[x], weights->weight + (size_t)x * weights->most);
            }
        }
    }
}

/* Columns of rows of `stride` bytes become `height` pixels high. */
static void along_columns(const uint8_t *pixels, size_t stride, const struct weights *weights,
                          uint32_t height, uint8_t *out)
{
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *column = pixels + weights->first[y] * stride;
        for (size_t x = 0; x < stride; x++) {
            *out++ = mix(column + x, stride, weights->count[y],
                         weights->weight + (size_t)y * weights->most);
        }
    }
}

static void copy_box(const uint8_t *pixels, struct image_shape shape, struct image_box box,
                     uint8_t *out)
{
    const size_t stride = (size_t)box.width * shape.channels;
    for (uint32_t y = 0; y < box.height; y++) {
        const size_t at = ((size_t)(box.top + y) * shape.width + box.left) * shape.channels;
        memcpy(out + y * stride, pixels + at, stride);
    }
}

enum tn_status image_resize(const uint8_t *pixels, struct image_shape shape, struct image_box box,
                            uint32_t height, uint32_t width, uint8_t *out, struct error *error)
{
    assert(height >= 1 && height <= IMAGE_SIDE_MAX && width >= 1 && width <= IMAGE_SIDE_MAX);
    assert(box.height >= 1 && box.top <= shape.height && box.height <= shape.height - box.top);
    assert(box.width >= 1 && box.left <= shape.width && box.width <= shape.width - box.left);
    if (height == box.height && width == box.width) {
        copy_box(pixels, shape, box, out);
        return TN_OK;
    }
    struct weights across = {0}, down = {0};
    const size_t stride = (size_t)width * shape.channels;
    uint8_t *between = malloc(box.height * stride);
    const bool whole = between != NULL && make_weights(box.width, width, &across) &&
                       make_weights(box.height, height, &down);
    if (whole) {
        along_rows(pixels, shape, box, &across, width, between);
        along_columns(between, stride, &down, height, out);
    }
    free(between);
    free_weights(&across);
    free_weights(&down);
    return whole ? TN_OK : error_set(error, TN_ENOMEM, "out of memory for an image");
}

struct image_box image_middle(struct image_shape shape, uint32_t height, uint32_t width)
{
    assert(shape.height >= 1 && shape.width >= 1 && height >= 1 && width >= 1);
    struct image_box box = {.height = shape.height, .width = shape.width};
    if ((uint64_t)shape.width * height > (uint64_t)shape.height * width) {
        box.width = u32_max(1, (uint32_t)((uint64_t)shape.height * width / height));
    } else {
        box.height = u32_max(1, (uint32_t)((uint64_t)shape.width * height / width));
    }
    box.left = (shape.width - box.width) / 2;
    box.top = (shape.height - box.height) / 2;
    return box;
}
