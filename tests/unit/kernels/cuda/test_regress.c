/* kernels/cuda/regress.c: losses of elements and their gradients have the bits of the CPU's, for
 * rows of all lengths and numbers of all kinds. */
#include "tests/unit/kernels/cuda/portable_call.h"

static const struct op_type *const losses[] = {
    [CUDA_SQUARED] = &op_squared_error,
    [CUDA_ABSOLUTE] = &op_absolute_error,
    [CUDA_HUBER] = &op_huber_error,
    [CUDA_SIGMOID] = &op_sigmoid_cross_entropy,
};
static const struct op_type *const slopes[] = {
    [CUDA_SQUARED] = &op_squared_error_gradient,
    [CUDA_ABSOLUTE] = &op_absolute_error_gradient,
    [CUDA_HUBER] = &op_huber_error_gradient,
    [CUDA_SIGMOID] = &op_sigmoid_cross_entropy_gradient,
};

static void compare(enum cuda_error which, size_t rows, size_t columns, const float *x,
                    const float *target, const float *dy)
{
    const double width = 0.75;
    const size_t count = rows * columns;
    float *expected = allocate_floats(rows), *expected_dx = allocate_floats(count);
    float *x_copy = floats_to_device(x, count), *target_copy = floats_to_device(target, count);
    float *dy_copy = floats_to_device(dy, rows);
    float *out = device_memory(rows * sizeof *out), *dx = device_memory(count * sizeof *dx);
    library->kernels->error[which](rows, columns, width, x_copy, target_copy, out);
    library->kernels->error_gradient[which](rows, columns, width, x_copy, target_copy, dy_copy, dx);
    const struct tn_view of_x = floats_view(x, rows, columns);
    const struct tn_view of_target = floats_view(target, rows, columns);
    run_portable(
        losses[which], width,
        (struct kernel_call){.in = {of_x, of_target}, .out = {floats_view(expected, rows, 0)}});
    run_portable(slopes[which], width,
                 (struct kernel_call){.in = {of_x, of_target, floats_view(dy, rows, 0)},
                                      .out = {floats_view(expected_dx, rows, columns)}});
    expect_floats(losses[which]->name, out, expected, rows);
    expect_floats(slopes[which]->name, dx, expected_dx, count);
    library->release(x_copy);
    library->release(target_copy);
    library->release(dy_copy);
    free(expected);
    free(expected_dx);
}

static void losses_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {7, 3}, {300, 1}, {33, 64}, {3, 785}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t rows = sizes[i][0], columns = sizes[i][1], count = rows * columns;
        for (uint32_t which = 0; which < 2 * CUDA_ERRORS; which++) {
            const bool all_kinds = which >= CUDA_ERRORS;
            float *x = all_kinds ? any_floats(which, count) : random_floats(which, count);
            float *target = all_kinds ? any_floats(50, count) : random_floats(50, count);
            float *dy = all_kinds ? any_floats(51, rows) : random_floats(51, rows);
            compare((enum cuda_error)(which % CUDA_ERRORS), rows, columns, x, target, dy);
            free(x);
            free(target);
            free(dy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
