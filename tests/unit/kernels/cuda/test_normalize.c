/* kernels/cuda/normalize.c: layer norm and batch norm have the bits of the CPU's, forward and
 * backward. */
#include "tests/unit/kernels/cuda/portable_call.h"

static const size_t lengths[] = {1, 2, 7, 15, 16, 17, 32, 33, 48, 65, 130};

/* Rounded to float in layer norm. */
static const double epsilon = 1e-3;

enum { LENGTHS = sizeof lengths / sizeof lengths[0], KINDS = 2, CASES = LENGTHS * KINDS };

/* The arrays of a case, and copies in the device's memory. */
struct arrays {
    size_t rows, columns, count;
    float *x, *gain, *bias, *dy;
    float *x_copy, *gain_copy, *bias_copy, *dy_copy;
};

/* Every other case has numbers of all kinds. */
static struct arrays arrays_of(size_t number)
{
    struct arrays a = {.rows = 1 + number * 7 % 23, .columns = lengths[number % LENGTHS]};
    float *(*const numbers)(uint64_t, size_t) = number % 2 == 1 ? any_floats : random_floats;
    a.count = a.rows * a.columns;
    a.x = numbers(number, a.count);
    a.dy = numbers(100 + number, a.count);
    a.gain = random_floats(200 + number, a.columns);
    a.bias = random_floats(300 + number, a.columns);
    a.x_copy = floats_to_device(a.x, a.count);
    a.dy_copy = floats_to_device(a.dy, a.count);
    a.gain_copy = floats_to_device(a.gain, a.columns);
    a.bias_copy = floats_to_device(a.bias, a.columns);
    return a;
}

static void release_arrays(struct arrays *a)
{
    float *const of_host[] = {a->x, a->gain, a->bias, a->dy};
    float *const copies[] = {a->x_copy, a->gain_copy, a->bias_copy, a->dy_copy};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        free(of_host[i]);
        library->release(copies[i]);
    }
}

/* Results: y and two moments, then the gradients of x, gain and bias. */
struct results {
    float *y, *first, *second, *dx, *dgain, *dbias;
};

static struct results results_of(const struct arrays *a, size_t moments,
                                 float *(*allocate)(size_t count))
{
    return (struct results){allocate(a->count), allocate(moments),    allocate(moments),
                            allocate(a->count), allocate(a->columns), allocate(a->columns)};
}

static float *device_floats(size_t count)
{
    return device_memory(count * sizeof(float));
}

static void expect_results(const struct arrays *a, size_t moments, const struct results *found,
                           const struct results *expected)
{
    expect_floats("y", found->y, expected->y, a->count);
    expect_floats("first moment", found->first, expected->first, moments);
    expect_floats("second moment", found->second, expected->second, moments);
    expect_floats("dx", found->dx, expected->dx, a->count);
    expect_floats("dgain", found->dgain, expected->dgain, a->columns);
    expect_floats("dbias", found->dbias, expected->dbias, a->columns);
    float *const all[] = {expected->y,  expected->first, expected->second,
                          expected->dx, expected->dgain, expected->dbias};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
}

static struct cuda_norm norm_of(const struct arrays *a, const struct results *out)
{
    return (struct cuda_norm){
        .rows = a->rows,
        .columns = a->columns,
        .epsilon = epsilon,
        .x = a->x_copy,
        .gain = a->gain_copy,
        .bias = a->bias_copy,
        .y = out->y,
        .mean = out->first,
        .second = out->second,
    };
}

static struct cuda_norm_gradient gradient_of(const struct arrays *a, const struct results *out)
{
    return (struct cuda_norm_gradient){
        .rows = a->rows,
        .columns = a->columns,
        .epsilon = epsilon,
        .x = a->x_copy,
        .gain = a->gain_copy,
        .mean = out->first,
        .second = out->second,
        .dy = a->dy_copy,
        .dx = out->dx,
        .dgain = out->dgain,
        .dbias = out->dbias,
    };
}

static void layer_norm_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct arrays a = arrays_of(i);
        struct results device = results_of(&a, a.rows, device_floats);
        struct results cpu = results_of(&a, a.rows, allocate_floats);
        const struct cuda_norm forward = norm_of(&a, &device);
        const struct cuda_norm_gradient backward = gradient_of(&a, &device);
        library->kernels->layer_norm(&forward);
        library->kernels->layer_norm_gradient(&backward);
        const struct layer_norm task = {a.rows, a.columns, a.x, a.gain, cpu.first, cpu.second};
        memset(cpu.dgain, 0, a.columns * sizeof(float));
        memset(cpu.dbias, 0, a.columns * sizeof(float));
        portable_fastest()->normalize->layer_forward(&task, a.bias, (float)epsilon, cpu.y);
        portable_fastest()->normalize->layer_backward(&task, a.dy, cpu.dx, cpu.dgain, cpu.dbias);
        expect_results(&a, a.rows, &device, &cpu);
        release_arrays(&a);
    }
}

static void batch_norm_of_cpu(const struct arrays *a, const struct results *out)
{
    const struct tn_view x = floats_view(a->x, a->rows, a->columns);
    const struct tn_view gain = floats_view(a->gain, a->columns, 0);
    const struct tn_view first = floats_view(out->first, a->columns, 0);
    const struct tn_view second = floats_view(out->second, a->columns, 0);
    const struct kernel_call forward = {
        .in = {x, gain, floats_view(a->bias, a->columns, 0)},
        .out = {floats_view(out->y, a->rows, a->columns), first, second},
    };
    const struct kernel_call backward = {
        .in = {x, gain, first, second, floats_view(a->dy, a->rows, a->columns)},
        .out = {floats_view(out->dx, a->rows, a->columns), floats_view(out->dgain, a->columns, 0),
                floats_view(out->dbias, a->columns, 0)},
    };
    run_portable(&op_batch_norm, epsilon, forward);
    run_portable(&op_batch_norm_gradient, epsilon, backward);
}

static void batch_norm_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct arrays a = arrays_of(i);
        struct results device = results_of(&a, a.columns, device_floats);
        struct results cpu = results_of(&a, a.columns, allocate_floats);
        const struct cuda_norm forward = norm_of(&a, &device);
        const struct cuda_norm_gradient backward = gradient_of(&a, &device);
        library->kernels->batch_norm(&forward);
        library->kernels->batch_norm_gradient(&backward);
        batch_norm_of_cpu(&a, &cpu);
        expect_results(&a, a.columns, &device, &cpu);
        release_arrays(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm_has_the_bits_of_the_cpu),
        cmocka_unit_test(batch_norm_has_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
