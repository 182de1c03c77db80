#include "kernels/portable/pool.h"

#include <assert.h>

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/vector.h"

/* The part of a window that lies in the image. */
struct window {
    size_t image, first_row, rows, first_column, columns;
    size_t skipped_row, skipped_column; /* Places of the window before the image. */
};

/* Places from `first` - `before`, `count` of them, cut to 0 to size - 1. */
static size_t cut(size_t first, size_t before, size_t count, size_t size, size_t *start,
                  size_t *skipped)
{
    *skipped = first < before ? before - first : 0;
    *start = first + *skipped - before;
    size_t end = size_min(first + count - before, size);
    assert(*start < end);
    return end - *start;
}

/* The `index`-th window, in the order of the outputs. */
static struct window window_at(const struct pool2d *pool, size_t index)
{
    size_t column = index % pool->out_width, row = index / pool->out_width % pool->out_height;
    struct window window = {.image = index / pool->out_width / pool->out_height};
    window.rows = cut(row * pool->stride_height, pool->top, pool->window_height, pool->height,
                      &window.first_row, &window.skipped_row);
    window.columns = cut(column * pool->stride_width, pool->left, pool->window_width, pool->width,
                         &window.first_column, &window.skipped_column);
    return window;
}

static size_t windows(const struct pool2d *pool)
{
    return pool->batch * pool->out_height * pool->out_width;
}

static size_t offset_of(const struct pool2d *pool, const struct window *window)
{
    size_t row = window->image * pool->height + window->first_row;
    return (row * pool->width + window->first_column) * pool->channels;
}

/* One window and up to 16 channels. */
ISA_INLINE void max_of_window(const struct pool2d *pool, const struct window *window,
                              const float *x, size_t size, float *y, uint8_t *which)
{
    uint32_t first = (uint32_t)(window->skipped_row * pool->window_width + window->skipped_column);
    wide best = wide_load_up_to(x, size);
    ints place = ints_set(first);
    for (size_t row = 0; row < window->rows; row++, x += pool->width * pool->channels) {
        for (size_t column = 0; column < window->columns; column++) {
            wide at = wide_load_up_to(x + column * pool->channels, size);
            lanes is_greater = lanes_less(best, at), is_number = lanes_equal(at, at);
            ints here = ints_set(first + (uint32_t)(row * pool->window_width + column));
            best = wide_select(is_number, wide_select(is_greater, at, best), at);
            place = ints_select(is_number, ints_select(is_greater, here, place), here);
        }
    }
    wide_store_up_to(y, best, size);
    ints_store_bytes(which, place, size);
}

static void max_forward(const struct pool2d *pool, const float *x, float *y, uint8_t *which)
{
    assert(pool->window_height * pool->window_width <= POOL_PLACES_MAX);
    const size_t count = windows(pool), channels = pool->channels;
    for (size_t i = 0; i < count; i++, y += channels, which += channels) {
        struct window window = window_at(pool, i);
        const float *from = x + offset_of(pool, &window);
        size_t c = 0;
        for (; c + WIDE <= channels; c += WIDE) {
            max_of_window(pool, &window, from + c, WIDE, y + c, which + c);
        }
        if (c < channels) {
            max_of_window(pool, &window, from + c, channels - c, y + c, which + c);
        }
    }
}

static void max_backward(const struct pool2d *pool, const float *dy, const uint8_t *which,
                         float *dx)
{
    const size_t count = windows(pool), channels = pool->channels;
    memset(dx, 0, pool->batch * pool->height * pool->width * channels * sizeof *dx);
    for (size_t i = 0; i < count; i++, dy += channels, which += channels) {
        struct window window = window_at(pool, i);
        float *to = dx + offset_of(pool, &window);
        for (size_t c = 0, size; c < channels; c += size) {
            size = size_min(channels - c, WIDE);
            ints place = ints_load_bytes(which + c, size);
            wide gradient = wide_load_up_to(dy + c, size);
            for (size_t p = 0; p < window.rows * window.columns; p++) {
                size_t row = p / window.columns, column = p % window.columns;
                size_t here = (row + window.skipped_row) * pool->window_width + column +
                              window.skipped_column;
                float *at = to + (row * pool->width + column) * channels + c;
                lanes is_here = lanes_equal_ints(place, ints_set((uint32_t)here));
                wide part = wide_select(is_here, gradient, wide_zero());
                wide_store_up_to(at, wide_add(wide_load_up_to(at, size), part), size);
            }
        }
    }
}

static void mean_forward(const struct pool2d *pool, const float *x, float *y)
{
    const size_t count = windows(pool), channels = pool->channels;
    for (size_t i = 0; i < count; i++, y += channels) {
        struct window window = window_at(pool, i);
        const float *from = x + offset_of(pool, &window);
        const wide share = wide_set(1.0F / (float)(window.rows * window.columns));
        for (size_t c = 0, size; c < channels; c += size) {
            size = size_min(channels - c, WIDE);
            wide sum = wide_zero();
            for (size_t row = 0; row < window.rows; row++) {
                const float *at = from + row * pool->width * channels + c;
                for (size_t column = 0; column < window.columns; column++, at += channels) {
                    sum = wide_add(sum, wide_load_up_to(at, size));
                }
            }
            wide_store_up_to(y + c, wide_multiply(sum, share), size);
        }
    }
}

static void mean_backward(const struct pool2d *pool, const float *dy, float *dx)
{
    const size_t count = windows(pool), channels = pool->channels;
    memset(dx, 0, pool->batch * pool->height * pool->width * channels * sizeof *dx);
    for (size_t i = 0; i < count; i++, dy += channels) {
        struct window window = window_at(pool, i);
        float *to = dx + offset_of(pool, &window);
        const wide share = wide_set(1.0F / (float)(window.rows * window.columns));
        for (size_t c = 0, size; c < channels; c += size) {
            size = size_min(channels - c, WIDE);
            wide part = wide_multiply(wide_load_up_to(dy + c, size), share);
            for (size_t row = 0; row < window.rows; row++) {
                float *at = to + row * pool->width * channels + c;
                for (size_t column = 0; column < window.columns; column++, at += channels) {
                    wide_store_up_to(at, wide_add(wide_load_up_to(at, size), part), size);
                }
            }
        }
    }
}

const struct pool_kernels ISA(pool_kernels) = {
    .max_forward = max_forward,
    .max_backward = max_backward,
    .mean_forward = mean_forward,
    .mean_backward = mean_backward,
};
