/* kernels/cuda/pool.c: the greatest elements and means of windows of all kinds, and their
 * gradients, have the bits of the CPU's. */
#include "graph/ops/window.h"
#include "tests/unit/kernels/cuda/portable_call.h"

/* The rows: batch, height, width, channels; window; strides; top and left; sizes of the result. */
static const struct pool2d pools[] = {
    {2, 8, 6, 5, 2, 2, 2, 2, 0, 0, 4, 3},     /* Squares without gaps. */
    {1, 9, 9, 17, 3, 3, 2, 2, 0, 0, 4, 4},    /* Overlaps. */
    {3, 7, 8, 3, 3, 2, 1, 1, 1, 0, 7, 7},     /* Padding, unlike windows. */
    {1, 10, 7, 33, 2, 3, 4, 3, 1, 2, 3, 3},   /* Gaps that no window sees. */
    {1, 5, 5, 1, 5, 5, 1, 1, 4, 4, 5, 5},     /* Windows with one place in the image. */
    {1, 16, 16, 2, 16, 16, 1, 1, 0, 0, 1, 1}, /* The largest window. */
};

enum { POOLS = sizeof pools / sizeof pools[0] };

static struct cuda_pool for_device(const struct pool2d *pool)
{
    return (struct cuda_pool){
        .batch = pool->batch,
        .height = pool->height,
        .width = pool->width,
        .channels = pool->channels,
        .window_height = pool->window_height,
        .window_width = pool->window_width,
        .stride_height = pool->stride_height,
        .stride_width = pool->stride_width,
        .top = pool->top,
        .left = pool->left,
        .out_height = pool->out_height,
        .out_width = pool->out_width,
    };
}

/* Few different numbers, so that greatest ones are often equal; some of all kinds. */
static float *images(uint64_t stream, size_t count)
{
    float *x = random_floats(stream, count), *any = any_floats(stream + 1, count);
    for (size_t i = 0; i < count; i++) {
        x[i] = random_at(23, stream, i) % 11 == 0 ? any[i] : rintf(2 * x[i]);
    }
    free(any);
    return x;
}

static void compare_pool(const struct pool2d *pool)
{
    const struct pool_kernels *cpu = portable_fastest()->pool;
    const struct cuda_pool task = for_device(pool);
    const size_t in = pool->batch * pool->height * pool->width * pool->channels;
    const size_t out = pool->batch * pool->out_height * pool->out_width * pool->channels;
    float *x = images(1, in), *dy = images(3, out), *y = allocate_floats(out);
    float *dx = allocate_floats(in);
    uint8_t *which = malloc(out);
    assert_non_null(which);
    float *x_copy = floats_to_device(x, in), *dy_copy = floats_to_device(dy, out);
    float *greatest = device_memory(out * sizeof *y), *mean = device_memory(out * sizeof *y);
    float *greatest_dx = device_memory(in * sizeof *x), *mean_dx = device_memory(in * sizeof *x);
    uint8_t *places = device_memory(out);
    library->kernels->max_pool(&task, x_copy, greatest, places, 1);
    library->kernels->max_pool_gradient(&task, dy_copy, places, 1, greatest_dx);
    library->kernels->mean_pool(&task, x_copy, mean);
    library->kernels->mean_pool_gradient(&task, dy_copy, mean_dx);
    cpu->max_forward(pool, x, y, which);
    expect_floats("max_pool", greatest, y, out);
    uint8_t *found = from_device(places, out);
    assert_memory_equal(found, which, out);
    cpu->max_backward(pool, dy, which, dx);
    expect_floats("max_pool_gradient", greatest_dx, dx, in);
    cpu->mean_forward(pool, x, y);
    expect_floats("mean_pool", mean, y, out);
    cpu->mean_backward(pool, dy, dx);
    expect_floats("mean_pool_gradient", mean_dx, dx, in);
    library->release(x_copy);
    library->release(dy_copy);
    free(found);
    free(which);
    float *const all[] = {x, dy, y, dx};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
}

static void windows_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < POOLS; i++) {
        print_message("window %zu\n", i);
        compare_pool(&pools[i]);
    }
}

/* A view of an image. */
static struct tn_view image_view(const void *data, enum tn_type type, size_t rows, size_t columns)
{
    struct tn_view view = view_of(data, type, 2, 0);
    view.shape = TN_SHAPE(2, (int64_t)rows, (int64_t)columns, 3);
    return view;
}

/* More places than bytes can count. */
static void places_of_large_windows_are_integers(void **state)
{
    (void)state;
    const struct pool2d pool = {2, 19, 21, 3, 17, 16, 1, 2, 1, 0, 4, 3};
    const struct cuda_pool task = for_device(&pool);
    const size_t in = 2 * 19 * 21 * 3, out = 2 * 4 * 3 * 3;
    const struct node node = {.op = &op_max_pool,
                              .attributes.integers = {[WINDOW_HEIGHT] = 17,
                                                      [WINDOW_WIDTH] = 16,
                                                      [WINDOW_STRIDE_Y] = 1,
                                                      [WINDOW_STRIDE_X] = 2,
                                                      [WINDOW_TOP] = 1}};
    float *x = images(5, in), *dy = images(7, out), *y = allocate_floats(out);
    float *dx = allocate_floats(in);
    int32_t which[2 * 4 * 3 * 3];
    float *x_copy = floats_to_device(x, in), *dy_copy = floats_to_device(dy, out);
    float *greatest = device_memory(out * sizeof *y), *slope = device_memory(in * sizeof *x);
    void *places = device_memory(sizeof which);
    library->kernels->max_pool(&task, x_copy, greatest, places, 4);
    library->kernels->max_pool_gradient(&task, dy_copy, places, 4, slope);
    const struct tn_view of_which = image_view(which, TN_INT32, 4, 3);
    const struct kernel_call forward = {
        .node = &node,
        .in = {image_view(x, TN_FLOAT32, 19, 21)},
        .out = {image_view(y, TN_FLOAT32, 4, 3), of_which},
    };
    const struct kernel_call backward = {
        .node = &node,
        .in = {of_which, image_view(dy, TN_FLOAT32, 4, 3)},
        .out = {image_view(dx, TN_FLOAT32, 19, 21)},
    };
    portable_backend()->find (&op_max_pool)(&forward);
    portable_backend()->find (&op_max_pool_gradient)(&backward);
    expect_floats("max_pool", greatest, y, out);
    expect_floats("max_pool_gradient", slope, dx, in);
    int32_t *found = from_device(places, sizeof which);
    assert_memory_equal(found, which, sizeof which);
    library->release(x_copy);
    library->release(dy_copy);
    free(found);
    float *const all[] = {x, dy, y, dx};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_have_the_bits_of_the_cpu),
        cmocka_unit_test(places_of_large_windows_are_integers),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
