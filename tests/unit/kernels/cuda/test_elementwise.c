/* kernels/cuda/elementwise.c: functions have the bits of the CPU's kernels, for numbers of all
 * kinds. */
#include "graph/portable/power.h"
#include "tests/unit/kernels/cuda/device.h"

enum { COUNT = 50021 };

static const struct elementwise_kernels *cpu(void)
{
    return portable_fastest()->elementwise;
}

/* Each function of one number. */
static void functions_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    float *x = any_floats(1, COUNT), *expected = allocate_floats(COUNT);
    for (size_t u = 0; u < ELEMENTWISE_UNARIES; u++) {
        char name[32];
        (void)snprintf(name, sizeof name, "function %zu", u);
        float *in = floats_to_device(x, COUNT), *out = device_memory(COUNT * sizeof *out);
        library->kernels->unary[u](COUNT, in, out);
        cpu()->unary[u](COUNT, x, expected);
        expect_floats(name, out, expected, COUNT);
        library->release(in);
    }
    free(x);
    free(expected);
}

static void gradients_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    float *x = any_floats(2, COUNT), *dy = any_floats(3, COUNT);
    float *expected = allocate_floats(COUNT);
    for (size_t u = 0; u < ELEMENTWISE_UNARIES; u++) {
        char name[32];
        (void)snprintf(name, sizeof name, "gradient %zu", u);
        assert_true((cpu()->gradient[u] == NULL) == (library->kernels->gradient[u] == NULL));
        if (cpu()->gradient[u] == NULL) { continue; }
        float *from = floats_to_device(x, COUNT), *in = floats_to_device(dy, COUNT);
        float *out = device_memory(COUNT * sizeof *out);
        library->kernels->gradient[u](COUNT, from, in, out);
        cpu()->gradient[u](COUNT, x, dy, expected);
        expect_floats(name, out, expected, COUNT);
        library->release(from);
        library->release(in);
    }
    free(x);
    free(dy);
    free(expected);
}

/* Row-major strides; 0 where `is_repeated` has a bit. Returns the number of elements. */
static size_t strides_of(const struct cuda_shape *shape, uint32_t is_repeated,
                         struct cuda_strides *strides)
{
    size_t step = 1;
    *strides = (struct cuda_strides){.first = 0};
    for (uint32_t i = shape->rank; i-- > 0;) {
        if ((is_repeated >> i & 1) != 0) { continue; }
        strides->stride[i] = step;
        step *= shape->dims[i];
    }
    return step;
}

/* The same offset, dimension by dimension. */
static size_t offset_of(const struct cuda_shape *shape, const struct cuda_strides *strides,
                        size_t index)
{
    size_t at = strides->first;
    for (uint32_t i = shape->rank; i-- > 0; index /= shape->dims[i]) {
        at += index % shape->dims[i] * strides->stride[i];
    }
    return at;
}

/* Sums, products ... of operands that are repeated along any dimensions. */
static void operations_broadcast(void **state)
{
    (void)state;
    const struct cuda_shape shape = {.rank = 4, .dims = {3, 7, 5, 11}};
    const size_t count = 3 * 7 * 5 * 11;
    float *x = any_floats(4, count), *y = any_floats(5, count), *expected = allocate_floats(count);
    for (uint32_t repeated = 0; repeated < 16; repeated++) {
        for (size_t b = 0; b < ELEMENTWISE_BINARIES; b++) {
            struct cuda_strides x_strides, y_strides;
            size_t x_count = strides_of(&shape, repeated, &x_strides);
            size_t y_count = strides_of(&shape, repeated * 7 % 16, &y_strides);
            float *left = floats_to_device(x, x_count), *right = floats_to_device(y, y_count);
            float *out = device_memory(count * sizeof *out);
            library->kernels->binary[b](&shape, left, &x_strides, right, &y_strides, out);
            for (size_t i = 0; i < count; i++) {
                cpu()->binary[b](1, x + offset_of(&shape, &x_strides, i), 1,
                                 y + offset_of(&shape, &y_strides, i), 1, expected + i);
            }
            expect_floats("binary", out, expected, count);
            library->release(left);
            library->release(right);
        }
    }
    free(x);
    free(y);
    free(expected);
}

/* Leaky relu, scale and clip. */
static void functions_with_constants(void **state)
{
    (void)state;
    const struct cuda_kernels *kernels = library->kernels;
    float *x = any_floats(6, COUNT), *dy = any_floats(7, COUNT), *expected = allocate_floats(COUNT);
    float *in = floats_to_device(x, COUNT), *slope = floats_to_device(dy, COUNT);
    float *out = device_memory(COUNT * sizeof *out);
    kernels->leaky_relu(COUNT, 0.01F, in, slope, out);
    cpu()->leaky_relu_gradient(COUNT, 0.01F, x, dy, expected);
    expect_floats("leaky_relu", out, expected, COUNT);
    out = device_memory(COUNT * sizeof *out);
    kernels->scale(COUNT, 1.7F, in, out);
    cpu()->scale(COUNT, 1.7F, x, expected);
    expect_floats("scale", out, expected, COUNT);
    out = device_memory(COUNT * sizeof *out);
    kernels->clip(COUNT, -0.0F, 3, in, out);
    cpu()->clip(COUNT, -0.0F, 3, x, expected);
    expect_floats("clip", out, expected, COUNT);
    out = device_memory(COUNT * sizeof *out);
    kernels->fill(COUNT, -0.0F, out);
    for (size_t i = 0; i < COUNT; i++) { expected[i] = -0.0F; }
    expect_floats("fill", out, expected, COUNT);
    library->release(in);
    library->release(slope);
    free(x);
    free(dy);
    free(expected);
}

/* Powers, with whole, odd, fractional and special exponents; and the gradient of clip. */
static void powers_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const float powers[] = {0,     1,        2,     3,        -1,        -2,  0.5F,
                                   -0.5F, 1.3F,     -2.7F, 64,       65,        -66, 1e-6F,
                                   33.3F, 16777215, 1e30F, INFINITY, -INFINITY, NAN};
    enum { POWERS = sizeof powers / sizeof powers[0], EACH = 5003 };
    float *x = any_floats(9, EACH), *expected = allocate_floats(EACH);
    float *in = floats_to_device(x, EACH);
    for (size_t k = 0; k < POWERS; k++) {
        float *out = device_memory(EACH * sizeof *out);
        library->kernels->power(EACH, powers[k], in, out);
        for (size_t i = 0; i < EACH; i++) { expected[i] = power_of(x[i], powers[k]); }
        expect_floats("power", out, expected, EACH);
    }
    float *dy = any_floats(10, EACH), *slope = floats_to_device(dy, EACH);
    float *out = device_memory(EACH * sizeof *out);
    library->kernels->clip_gradient(EACH, -0.0F, 3, in, slope, out);
    for (size_t i = 0; i < EACH; i++) { expected[i] = x[i] >= -0.0F && x[i] <= 3 ? dy[i] : 0; }
    expect_floats("clip_gradient", out, expected, EACH);
    library->release(in);
    library->release(slope);
    free(x);
    free(dy);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_have_the_bits_of_the_cpu),
        cmocka_unit_test(gradients_have_the_bits_of_the_cpu),
        cmocka_unit_test(operations_broadcast),
        cmocka_unit_test(functions_with_constants),
        cmocka_unit_test(powers_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
