/* Pooling: the loops of the definition in every class, for any window, stride and padding. */
#include "kernels/portable/pool.h"

#include <math.h>

#include "tests/unit/kernels/portable/classes.h"

struct results {
    float *greatest, *mean, *max_dx, *mean_dx;
    uint8_t *which;
};

/* The place of a window in the image, or false. */
static bool find_place(const struct pool2d *pool, size_t output, size_t place, size_t *pixel)
{
    size_t column = output % pool->out_width, row = output / pool->out_width % pool->out_height;
    size_t y = row * pool->stride_height + place / pool->window_width;
    size_t x = column * pool->stride_width + place % pool->window_width;
    if (y < pool->top || x < pool->left) { return false; }
    y -= pool->top, x -= pool->left;
    size_t n = output / (pool->out_width * pool->out_height);
    *pixel = (n * pool->height + y) * pool->width + x;
    return y < pool->height && x < pool->width;
}

static void pool_by_definition(const struct pool2d *pool, const float *x, const float *dy,
                               size_t output, size_t channel, struct results *out)
{
    size_t at = output * pool->channels + channel, count = 0, pixel;
    float sum = 0, best = -INFINITY;
    for (size_t p = 0; p < pool->window_height * pool->window_width; p++) {
        if (!find_place(pool, output, p, &pixel)) { continue; }
        float value = x[pixel * pool->channels + channel];
        if (count == 0 || value > best || isnan(value)) {
            best = value;
            out->which[at] = (uint8_t)p;
        }
        sum += value;
        count++;
    }
    out->greatest[at] = best;
    out->mean[at] = sum * (1.0F / (float)count);
    for (size_t p = 0; p < pool->window_height * pool->window_width; p++) {
        if (!find_place(pool, output, p, &pixel)) { continue; }
        pixel = pixel * pool->channels + channel;
        if (p == out->which[at]) { out->max_dx[pixel] += dy[at]; }
        out->mean_dx[pixel] += dy[at] * (1.0F / (float)count);
    }
}

static struct results make_results(size_t x_size, size_t y_size)
{
    struct results out = {
        .greatest = calloc(y_size, sizeof(float)),
        .mean = calloc(y_size, sizeof(float)),
        .max_dx = calloc(x_size, sizeof(float)),
        .mean_dx = calloc(x_size, sizeof(float)),
        .which = calloc(y_size, 1),
    };
    assert_non_null(out.which);
    return out;
}

static void free_results(struct results *out)
{
    free(out->greatest), free(out->mean), free(out->max_dx), free(out->mean_dx), free(out->which);
}

static void check(const struct pool2d *pool)
{
    size_t outputs = pool->batch * pool->out_height * pool->out_width;
    size_t y_size = outputs * pool->channels;
    size_t x_size = pool->batch * pool->height * pool->width * pool->channels;
    float *x = random_floats(1, x_size), *dy = random_floats(2, y_size);
    for (size_t i = 0; i < x_size; i++) { x[i] = roundf(4 * x[i]); } /* Many equal elements. */
    for (size_t i = 7; i < x_size; i += 53) { x[i] = NAN; }
    struct results expected = make_results(x_size, y_size);
    for (size_t i = 0; i < y_size; i++) {
        pool_by_definition(pool, x, dy, i / pool->channels, i % pool->channels, &expected);
    }
    for (size_t c = 0; c < class_count; c++) {
        const struct pool_kernels *kernels = classes[c]->pool;
        struct results out = make_results(x_size, y_size);
        kernels->max_forward(pool, x, out.greatest, out.which);
        kernels->max_backward(pool, dy, out.which, out.max_dx);
        kernels->mean_forward(pool, x, out.mean);
        kernels->mean_backward(pool, dy, out.mean_dx);
        assert_memory_equal(out.which, expected.which, y_size);
        assert_same_bits(out.greatest, expected.greatest, y_size, classes[c]->name, "maximum");
        assert_same_bits(out.mean, expected.mean, y_size, classes[c]->name, "mean");
        assert_same_bits(out.max_dx, expected.max_dx, x_size, classes[c]->name, "max dx");
        assert_same_bits(out.mean_dx, expected.mean_dx, x_size, classes[c]->name, "mean dx");
        free_results(&out);
    }
    free(x), free(dy), free_results(&expected);
}

/* 200 random geometries, with overlapping windows and padding. */
static void test_pooling_follows_the_definition(void **state)
{
    (void)state;
    struct random random = {.state = 80};
    for (size_t i = 0; i < 200; i++) {
        struct pool2d pool = {
            .batch = 1 + random_below(&random, 2),
            .height = 3 + random_below(&random, 7),
            .width = 3 + random_below(&random, 7),
            .channels = random_size(&random, 40),
            .window_height = 1 + random_below(&random, 3),
            .window_width = 1 + random_below(&random, 3),
            .stride_height = 1 + random_below(&random, 3),
            .stride_width = 1 + random_below(&random, 3),
        };
        pool.top = random_below(&random, pool.window_height);
        pool.left = random_below(&random, pool.window_width);
        pool.out_height = (pool.height + pool.top - pool.window_height) / pool.stride_height + 1;
        pool.out_width = (pool.width + pool.left - pool.window_width) / pool.stride_width + 1;
        check(&pool);
    }
}

/* Global pooling: one window of 256 places. */
static void test_the_largest_window(void **state)
{
    (void)state;
    const struct pool2d pool = {.batch = 2,
                                .height = 16,
                                .width = 16,
                                .channels = 19,
                                .window_height = 16,
                                .window_width = 16,
                                .stride_height = 1,
                                .stride_width = 1,
                                .out_height = 1,
                                .out_width = 1};
    check(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pooling_follows_the_definition),
        cmocka_unit_test(test_the_largest_window),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
