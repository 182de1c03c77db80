/*
 * kernels/cuda/pool.c: the greatest element and the mean of windows, and their gradients, with the
 * bits of kernels/portable/pool.h. A gradient is gathered: each element of dx takes the windows
 * that contain it in ascending order, as the CPU adds them.
 */
#include "kernels/cuda/families.h"

struct pool_task {
    struct cuda_pool pool;
    size_t count; /* Elements of y, or of dx. */
    const float *x, *dy;
    const void *which;
    float *out;
    void *places;
    uint32_t place_bytes;
};

/* A window's rows or columns that lie in the image: [start, end); `skipped` lie before it. */
struct span {
    size_t start, end, skipped;
};

DEVICE_INLINE struct span span_of(size_t index, size_t stride, size_t before, size_t window,
                                  size_t size)
{
    const size_t first = index * stride, end = first + window - before;
    struct span span;
    span.skipped = first < before ? before - first : 0;
    span.start = first + span.skipped - before;
    span.end = end;
    if (end > size) { span.end = size; }
    return span;
}

/* Where output `i` is. */
struct place {
    size_t image, row, column, channel;
};

DEVICE_INLINE struct place place_of(size_t i, size_t height, size_t width, size_t channels)
{
    struct place place;
    place.channel = i % channels;
    place.column = i / channels % width;
    place.row = i / channels / width % height;
    place.image = i / channels / width / height;
    return place;
}

DEVICE_INLINE struct span rows_of(const struct cuda_pool *pool, size_t row)
{
    return span_of(row, pool->stride_height, pool->top, pool->window_height, pool->height);
}

DEVICE_INLINE struct span columns_of(const struct cuda_pool *pool, size_t column)
{
    return span_of(column, pool->stride_width, pool->left, pool->window_width, pool->width);
}

DEVICE_INLINE float pixel_at(const struct pool_task *a, const struct place *place, size_t row,
                             size_t column)
{
    const struct cuda_pool *pool = &a->pool;
    const size_t at = (place->image * pool->height + row) * pool->width + column;
    return a->x[at * pool->channels + place->channel];
}

KERNEL(max_pool, struct pool_task)
{
    EACH_ELEMENT(i, a.count)
    {
        const struct cuda_pool *pool = &a.pool;
        const struct place place = place_of(i, pool->out_height, pool->out_width, pool->channels);
        const struct span rows = rows_of(pool, place.row), columns = columns_of(pool, place.column);
        size_t here = rows.skipped * pool->window_width + columns.skipped, best_at = here;
        float best = pixel_at(&a, &place, rows.start, columns.start);
        for (size_t row = rows.start; row < rows.end; row++, here += pool->window_width) {
            for (size_t column = columns.start; column < columns.end; column++) {
                const float x = pixel_at(&a, &place, row, column);
                if (x == x && !(best < x)) { continue; }
                best = x;
                best_at = here + column - columns.start;
            }
        }
        a.out[i] = best;
        if (a.place_bytes == 1) {
            ((uint8_t *)a.places)[i] = (uint8_t)best_at;
        } else {
            ((int32_t *)a.places)[i] = (int32_t)best_at;
        }
    }
}

KERNEL(mean_pool, struct pool_task)
{
    EACH_ELEMENT(i, a.count)
    {
        const struct cuda_pool *pool = &a.pool;
        const struct place place = place_of(i, pool->out_height, pool->out_width, pool->channels);
        const struct span rows = rows_of(pool, place.row), columns = columns_of(pool, place.column);
        const float share = 1.0F / (float)((rows.end - rows.start) * (columns.end - columns.start));
        float sum = 0.0F;
        for (size_t row = rows.start; row < rows.end; row++) {
            for (size_t column = columns.start; column < columns.end; column++) {
                sum = sum + pixel_at(&a, &place, row, column);
            }
        }
        a.out[i] = sum * share;
    }
}

/* The first and one behind the last of `count` windows that contain place `at`. */
DEVICE_INLINE struct span windows_with(size_t at, size_t stride, size_t before, size_t window,
                                       size_t count)
{
    const size_t from = at + before;
    struct span span;
    span.skipped = 0;
    span.start = from < window ? 0 : (from - window) / stride + 1;
    span.end = from / stride + 1;
    if (span.end > count) { span.end = count; }
    return span;
}

/* The sum of what each window that contains an element gives to it. */
#define GRADIENT(name, GIVEN)                                                                      \
    KERNEL(name, struct pool_task)                                                                 \
    {                                                                                              \
        EACH_ELEMENT(i, a.count)                                                                   \
        {                                                                                          \
            const struct cuda_pool *pool = &a.pool;                                                \
            const struct place place = place_of(i, pool->height, pool->width, pool->channels);     \
            const struct span rows = windows_with(place.row, pool->stride_height, pool->top,       \
                                                  pool->window_height, pool->out_height);          \
            const struct span columns = windows_with(place.column, pool->stride_width, pool->left, \
                                                     pool->window_width, pool->out_width);         \
            float sum = 0.0F;                                                                      \
            for (size_t row = rows.start; row < rows.end; row++) {                                 \
                for (size_t column = columns.start; column < columns.end; column++) {              \
                    sum = sum + GIVEN(&a, &place, row, column);                                    \
                }                                                                                  \
            }                                                                                      \
            a.out[i] = sum;                                                                        \
        }                                                                                          \
    }

DEVICE_INLINE size_t result_at(const struct pool_task *a, const struct place *place, size_t row,
                               size_t column)
{
    const struct cuda_pool *pool = &a->pool;
    const size_t at = (place->image * pool->out_height + row) * pool->out_width + column;
    return at * pool->channels + place->channel;
}

DEVICE_INLINE float given_to_greatest(const struct pool_task *a, const struct place *place,
                                      size_t row, size_t column)
{
    const struct cuda_pool *pool = &a->pool;
    const size_t at = result_at(a, place, row, column);
    const size_t window_row = place->row + pool->top - row * pool->stride_height;
    const size_t window_column = place->column + pool->left - column * pool->stride_width;
    const int64_t here = (int64_t)(window_row * pool->window_width + window_column);
    return integer_of(a->which, a->place_bytes, at) == here ? a->dy[at] : 0.0F;
}

DEVICE_INLINE float given_to_all(const struct pool_task *a, const struct place *place, size_t row,
                                 size_t column)
{
    const struct span rows = rows_of(&a->pool, row), columns = columns_of(&a->pool, column);
    const float share = 1.0F / (float)((rows.end - rows.start) * (columns.end - columns.start));
    return a->dy[result_at(a, place, row, column)] * share;
}

GRADIENT(max_pool_gradient, given_to_greatest)
GRADIENT(mean_pool_gradient, given_to_all)

static size_t elements(size_t batch, size_t height, size_t width, size_t channels)
{
    return batch * height * width * channels;
}

static void run_max_pool(const struct cuda_pool *pool, const float *x, float *y, void *which,
                         uint32_t place_bytes)
{
    const size_t count = elements(pool->batch, pool->out_height, pool->out_width, pool->channels);
    struct pool_task task = {*pool, count, x, NULL, NULL, y, which, place_bytes};
    if (count > 0) { LAUNCH(max_pool, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_mean_pool(const struct cuda_pool *pool, const float *x, float *y)
{
    const size_t count = elements(pool->batch, pool->out_height, pool->out_width, pool->channels);
    struct pool_task task = {*pool, count, x, NULL, NULL, y, NULL, 0};
    if (count > 0) { LAUNCH(mean_pool, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_max_pool_gradient(const struct cuda_pool *pool, const float *dy, const void *which,
                                  uint32_t place_bytes, float *dx)
{
    const size_t count = elements(pool->batch, pool->height, pool->width, pool->channels);
    struct pool_task task = {*pool, count, NULL, dy, which, dx, NULL, place_bytes};
    if (count > 0) { LAUNCH(max_pool_gradient, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_mean_pool_gradient(const struct cuda_pool *pool, const float *dy, float *dx)
{
    const size_t count = elements(pool->batch, pool->height, pool->width, pool->channels);
    struct pool_task task = {*pool, count, NULL, dy, NULL, dx, NULL, 0};
    if (count > 0) { LAUNCH(mean_pool_gradient, blocks_for(count), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void CUDA_FILL(pool)(struct cuda_kernels *table)
{
    table->max_pool = run_max_pool;
    table->max_pool_gradient = run_max_pool_gradient;
    table->mean_pool = run_mean_pool;
    table->mean_pool_gradient = run_mean_pool_gradient;
}
