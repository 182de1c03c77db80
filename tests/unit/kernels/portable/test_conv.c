/* Convolutions: the textbook loops of conv.h in every class, for groups, strides and paddings; the
 * gradients are the transposes of the forward pass. */
#include "kernels/portable/conv.h"

#include <math.h>
#include <stdio.h>

#include "tests/unit/kernels/portable/classes.h"

struct sizes {
    size_t x, w, y;
};

static struct sizes sizes_of(const struct conv2d *v)
{
    return (struct sizes){
        .x = v->batch * v->height * v->width * v->channels,
        .w = v->kernel_height * v->kernel_width * v->channels / v->groups * v->filters,
        .y = v->batch * conv2d_out_height(v) * conv2d_out_width(v) * v->filters,
    };
}

/* x at a place of the padded image; 0 in the padding. */
static float x_at(const struct conv2d *v, const float *x, size_t n, size_t row, size_t column,
                  size_t c)
{
    bool is_inside = row >= v->top && row - v->top < v->height && column >= v->left &&
                     column - v->left < v->width;
    if (!is_inside) { return 0; }
    size_t pixel = (n * v->height + row - v->top) * v->width + column - v->left;
    return x[pixel * v->channels + c];
}

/* The index of a weight: tap, channel within the group, filter. */
static size_t w_at(const struct conv2d *v, size_t ky, size_t kx, size_t c, size_t f)
{
    return ((ky * v->kernel_width + kx) * (v->channels / v->groups) + c) * v->filters + f;
}

static float forward_at(const struct conv2d *v, const float *x, const float *w, size_t n,
                        size_t row, size_t column, size_t f)
{
    size_t channels = v->channels / v->groups, first = f / (v->filters / v->groups) * channels;
    float sum = 0;
    for (size_t ky = 0; ky < v->kernel_height; ky++) {
        for (size_t kx = 0; kx < v->kernel_width; kx++) {
            for (size_t c = 0; c < channels; c++) {
                float at = x_at(v, x, n, row * v->stride_height + ky, column * v->stride_width + kx,
                                first + c);
                sum = fmaf(at, w[w_at(v, ky, kx, c, f)], sum);
            }
        }
    }
    return sum;
}

static void forward_by_definition(const struct conv2d *v, const float *x, const float *w, float *y)
{
    for (size_t n = 0; n < v->batch; n++) {
        for (size_t row = 0; row < conv2d_out_height(v); row++) {
            for (size_t column = 0; column < conv2d_out_width(v); column++) {
                for (size_t f = 0; f < v->filters; f++) {
                    *y++ = forward_at(v, x, w, n, row, column, f);
                }
            }
        }
    }
}

/* dy at the output whose window, at tap (ky, kx), sees pixel (row, column); 0 if there is none. */
static float dy_at(const struct conv2d *v, const float *dy, size_t n, size_t row, size_t column,
                   size_t f)
{
    size_t y = row / v->stride_height, x = column / v->stride_width;
    bool exists = row % v->stride_height == 0 && column % v->stride_width == 0 &&
                  y < conv2d_out_height(v) && x < conv2d_out_width(v);
    if (!exists) { return 0; }
    return dy[((n * conv2d_out_height(v) + y) * conv2d_out_width(v) + x) * v->filters + f];
}

static float backward_at(const struct conv2d *v, const float *dy, const float *w, size_t n,
                         size_t row, size_t column, size_t c)
{
    size_t filters = v->filters / v->groups, channels = v->channels / v->groups;
    float sum = 0;
    for (size_t ky = v->kernel_height; ky-- > 0;) {
        for (size_t kx = v->kernel_width; kx-- > 0;) {
            bool exists = row + v->top >= ky && column + v->left >= kx;
            for (size_t f = c / channels * filters; f < (c / channels + 1) * filters; f++) {
                float at =
                    exists ? dy_at(v, dy, n, row + v->top - ky, column + v->left - kx, f) : 0;
                sum = fmaf(at, w[w_at(v, ky, kx, c % channels, f)], sum);
            }
        }
    }
    return sum;
}

static void backward_by_definition(const struct conv2d *v, const float *dy, const float *w,
                                   float *dx)
{
    for (size_t n = 0; n < v->batch; n++) {
        for (size_t row = 0; row < v->height; row++) {
            for (size_t column = 0; column < v->width; column++) {
                for (size_t c = 0; c < v->channels; c++) {
                    *dx++ = backward_at(v, dy, w, n, row, column, c);
                }
            }
        }
    }
}

/* Continues from the values in dw. */
static void weights_by_definition(const struct conv2d *v, const float *x, const float *dy,
                                  float *dw)
{
    size_t channels = v->channels / v->groups, filters = v->filters / v->groups;
    size_t out_width = conv2d_out_width(v), pixels = conv2d_out_height(v) * out_width;
    for (size_t ky = 0; ky < v->kernel_height; ky++) {
        for (size_t kx = 0; kx < v->kernel_width; kx++) {
            for (size_t i = 0; i < channels * v->filters; i++) {
                size_t c = i / v->filters, f = i % v->filters;
                float *sum = dw + w_at(v, ky, kx, c, f);
                for (size_t p = 0; p < v->batch * pixels; p++) {
                    size_t row = p % pixels / out_width * v->stride_height + ky;
                    size_t column = p % out_width * v->stride_width + kx;
                    float at = x_at(v, x, p / pixels, row, column, f / filters * channels + c);
                    *sum = fmaf(at, dy[p * v->filters + f], *sum);
                }
            }
        }
    }
}

static double product_of(size_t count, const float *a, const float *b)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) { sum += (double)a[i] * (double)b[i]; }
    return sum;
}

static void run_class(const struct portable *kernels, const struct conv2d *v, const float *x,
                      const float *w, const float *dy, float *y, float *dx, float *dw,
                      bool accumulate)
{
    float *packed = allocate_floats(conv2d_packed_size(kernels, v));
    float *back = allocate_floats(conv2d_packed_backward_size(kernels, v));
    float *scratch = allocate_floats(conv2d_pack_scratch(v));
    float *workspace = random_floats(9, conv2d_workspace(v));
    conv2d_pack(kernels, v, w, packed);
    conv2d_pack_backward(kernels, v, w, back, scratch);
    conv2d_forward(kernels, v, x, packed, (struct conv2d_epilogue){0}, y, workspace);
    conv2d_backward_data(kernels, v, dy, back, dx, workspace);
    conv2d_backward_weights(kernels, v, x, dy, accumulate, dw, workspace);
    free(packed), free(back), free(scratch), free(workspace);
}

static void check(const struct conv2d *v, bool accumulate)
{
    struct sizes size = sizes_of(v);
    char text[128];
    (void)snprintf(text, sizeof text, "%zux%zux%zux%zu kernel %zux%zu filters %zu groups %zu",
                   v->batch, v->height, v->width, v->channels, v->kernel_height, v->kernel_width,
                   v->filters, v->groups);
    float *x = random_floats(1, size.x), *w = random_floats(2, size.w);
    float *dy = random_floats(3, size.y), *start = random_floats(4, size.w);
    float *y = allocate_floats(size.y), *dx = allocate_floats(size.x);
    float *dw = calloc(size.w, sizeof *dw);
    forward_by_definition(v, x, w, y);
    backward_by_definition(v, dy, w, dx);
    weights_by_definition(v, x, dy, dw);
    double forward = product_of(size.y, y, dy), scale = (double)size.y * 1e-5 + 1e-5;
    assert_true(fabs(forward - product_of(size.x, dx, x)) <= scale);
    assert_true(fabs(forward - product_of(size.w, dw, w)) <= scale);
    if (accumulate) {
        memcpy(dw, start, size.w * sizeof *dw);
        weights_by_definition(v, x, dy, dw);
    }
    for (size_t c = 0; c < class_count; c++) {
        float *found_y = allocate_floats(size.y), *found_dx = allocate_floats(size.x);
        float *found_dw = copy_floats(start, size.w);
        run_class(classes[c], v, x, w, dy, found_y, found_dx, found_dw, accumulate);
        assert_same_bits(found_y, y, size.y, classes[c]->name, text);
        assert_same_bits(found_dx, dx, size.x, classes[c]->name, text);
        assert_same_bits(found_dw, dw, size.w, classes[c]->name, text);
        free(found_y), free(found_dx), free(found_dw);
    }
    free(x), free(w), free(dy), free(start), free(y), free(dx), free(dw);
}

/* 200 random geometries. Every fifth is depthwise, every fifth 1 x 1. */
static void test_every_class_has_the_bits_of_the_textbook(void **state)
{
    (void)state;
    struct random random = {.state = 70};
    for (size_t i = 0; i < 200; i++) {
        size_t groups = i % 3 == 0 ? 1 : 1 + random_below(&random, 3);
        struct conv2d v = {
            .batch = 1 + random_below(&random, 3),
            .kernel_height = 1 + random_below(&random, 4),
            .kernel_width = 1 + random_below(&random, 4),
            .channels = groups * (1 + random_below(&random, 9)),
            .filters = groups * random_size(&random, 20),
            .groups = groups,
            .stride_height = 1 + random_below(&random, 3),
            .stride_width = 1 + random_below(&random, 3),
            .top = random_below(&random, 3),
            .left = random_below(&random, 3),
            .bottom = random_below(&random, 3),
            .right = random_below(&random, 3),
        };
        if (i % 5 == 0) { v.groups = v.filters = v.channels = random_size(&random, 40); }
        if (i % 5 == 1) {
            v.kernel_height = v.kernel_width = v.stride_height = v.stride_width = 1;
            v.top = v.left = v.bottom = v.right = 0;
        }
        v.height = v.kernel_height + random_below(&random, 8);
        v.width = v.kernel_width + random_below(&random, 17);
        check(&v, i % 2 == 0);
    }
}

/* More padding than the kernel sees: outputs of padding only, and dropped gradients. */
static void test_wide_paddings(void **state)
{
    (void)state;
    const struct conv2d v = {.batch = 1,
                             .height = 4,
                             .width = 3,
                             .channels = 2,
                             .kernel_height = 2,
                             .kernel_width = 1,
                             .filters = 3,
                             .groups = 1,
                             .stride_height = 2,
                             .stride_width = 1,
                             .top = 5,
                             .left = 4,
                             .bottom = 3,
                             .right = 2};
    check(&v, false);
}

/* Bias, relu and pooling in one call equal the three passes. */
static void test_the_fused_pass_equals_its_parts(void **state)
{
    (void)state;
    for (size_t height = 6; height <= 9; height++) {
        const struct conv2d v = {.batch = 2,
                                 .height = height,
                                 .width = height + 2,
                                 .channels = 3,
                                 .kernel_height = 3,
                                 .kernel_width = 3,
                                 .filters = 21,
                                 .groups = 1,
                                 .stride_height = 1,
                                 .stride_width = 1,
                                 .top = 1,
                                 .left = 1,
                                 .bottom = 1,
                                 .right = 1};
        struct sizes size = sizes_of(&v);
        float *x = random_floats(1, size.x), *w = random_floats(2, size.w);
        float *bias = random_floats(3, v.filters), *y = allocate_floats(size.y);
        forward_by_definition(&v, x, w, y);
        for (size_t i = 0; i < size.y; i++) { y[i] = fmaxf(y[i] + bias[i % v.filters], 0); }
        for (size_t c = 0; c < class_count; c++) {
            struct pool2d pool = {.batch = v.batch,
                                  .height = v.height,
                                  .width = v.width,
                                  .channels = v.filters,
                                  .window_height = 2,
                                  .window_width = 2,
                                  .stride_height = 2,
                                  .stride_width = 2,
                                  .out_height = v.height / 2,
                                  .out_width = v.width / 2};
            size_t out = v.batch * pool.out_height * pool.out_width * v.filters;
            float *packed = allocate_floats(conv2d_packed_size(classes[c], &v));
            float *workspace = allocate_floats(conv2d_workspace(&v) + 2 * v.width * v.filters);
            float *expected = allocate_floats(out), *found = allocate_floats(out);
            uint8_t *places = malloc(2 * out);
            struct conv2d_epilogue epilogue = {.bias = bias, .relu = true};
            conv2d_pack(classes[c], &v, w, packed);
            classes[c]->pool->max_forward(&pool, y, expected, places);
            conv2d_forward_pooled(classes[c], &v, 2, x, packed, epilogue, found, places + out,
                                  workspace);
            assert_same_bits(found, expected, out, classes[c]->name, "fused");
            assert_memory_equal(places, places + out, out);
            free(packed), free(workspace), free(expected), free(found), free(places);
        }
        free(x), free(w), free(bias), free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_class_has_the_bits_of_the_textbook),
        cmocka_unit_test(test_wide_paddings),
        cmocka_unit_test(test_the_fused_pass_equals_its_parts),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
