/* kernels/cuda/product.c: products and convolutions of odd shapes have the bits of the CPU's. */
#include "kernels/portable/conv.h"
#include "kernels/portable/matmul.h"
#include "tests/unit/kernels/cuda/device.h"

/* Few numbers are not finite, or every result would be a NaN. */
static float *mostly_finite(uint64_t stream, size_t count)
{
    float *values = random_floats(stream, count), *any = any_floats(stream + 1, count);
    for (size_t i = 0; i < count; i++) {
        if (random_at(19, stream, i) % 97 == 0) { values[i] = any[i]; }
    }
    free(any);
    return values;
}

/* ------------------------------------------------------ matrices */

enum { MATMULS = 60 };

static struct matmul_operand operand_of(struct random *random, size_t rows, size_t columns,
                                        size_t batch)
{
    bool is_turned = random_below(random, 2) == 0;
    return (struct matmul_operand){
        .batch = random_below(random, 2) == 0 || batch == 1 ? 0 : rows * columns,
        .row = is_turned ? 1 : columns,
        .column = is_turned ? rows : 1,
    };
}

static struct cuda_operand for_device(const struct matmul_operand *from, const float *data)
{
    return (struct cuda_operand){data, from->batch, from->row, from->column};
}

static void compare_matmul(struct random *random)
{
    struct matmul task = {
        .batch = random_size(random, 3),
        .m = random_size(random, 70),
        .n = random_size(random, 70),
        .k = random_size(random, 90),
    };
    task.a = operand_of(random, task.m, task.k, task.batch);
    task.b = operand_of(random, task.k, task.n, task.batch);
    task.out_batch = task.m * task.n;
    task.out_row = task.n;
    task.accumulate = random_below(random, 3) == 0;
    task.relu = random_below(random, 3) == 0;
    const size_t results = task.batch * task.m * task.n;
    float *a = mostly_finite(1, task.batch * task.m * task.k);
    float *b = mostly_finite(3, task.batch * task.k * task.n);
    float *bias = mostly_finite(5, task.n), *out = mostly_finite(7, results);
    float *left = floats_to_device(a, task.batch * task.m * task.k);
    float *right = floats_to_device(b, task.batch * task.k * task.n);
    float *bias_copy = floats_to_device(bias, task.n), *found = floats_to_device(out, results);
    task.a.data = a;
    task.b.data = b;
    task.bias = random_below(random, 2) == 0 ? bias : NULL;
    task.out = out;
    struct cuda_matmul of_device = {
        .batch = task.batch,
        .m = task.m,
        .n = task.n,
        .k = task.k,
        .a = for_device(&task.a, left),
        .b = for_device(&task.b, right),
        .out = found,
        .accumulate = task.accumulate,
        .bias = task.bias != NULL ? bias_copy : NULL,
        .relu = task.relu,
    };
    library->kernels->matmul(&of_device);
    float *workspace = allocate_floats(matmul_workspace(portable_fastest(), &task));
    matmul_run(portable_fastest(), &task, workspace);
    char name[96];
    (void)snprintf(name, sizeof name, "matmul of %zu pairs %zu x %zu x %zu", task.batch, task.m,
                   task.k, task.n);
    expect_floats(name, found, out, results);
    library->release(left);
    library->release(right);
    library->release(bias_copy);
    free(a);
    free(b);
    free(bias);
    free(out);
    free(workspace);
}

static void products_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    struct random random = {3};
    for (size_t i = 0; i < MATMULS; i++) {
        emulation_reverse(i % 2 == 1);
        compare_matmul(&random);
    }
    emulation_reverse(false);
}

/* ------------------------------------------------------ convolutions */

static const struct conv2d convs[] = {
    {2, 9, 7, 3, 3, 3, 5, 1, 1, 1, 1, 1, 1, 1},    /* Padded. */
    {1, 8, 8, 4, 3, 3, 6, 1, 2, 2, 0, 0, 0, 0},    /* Strided, and a row that no window sees. */
    {2, 7, 9, 4, 5, 2, 6, 2, 2, 3, 2, 0, 1, 1},    /* Groups, unlike windows, strides, paddings. */
    {2, 6, 6, 5, 3, 3, 5, 5, 1, 1, 1, 1, 1, 1},    /* Depthwise. */
    {1, 9, 9, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1},    /* Depthwise, strided. */
    {3, 5, 4, 7, 1, 1, 9, 1, 1, 1, 0, 0, 0, 0},    /* Pointwise. */
    {1, 6, 5, 2, 1, 1, 3, 1, 2, 2, 0, 0, 0, 0},    /* Pointwise, strided. */
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},    /* The smallest. */
    {1, 11, 10, 1, 5, 5, 33, 1, 1, 1, 2, 2, 2, 2}, /* More filters than a tile. */
    {1, 4, 4, 34, 3, 3, 2, 1, 1, 1, 2, 2, 2, 2},   /* More channels than a tile, wide padding. */
    {2, 4, 5, 6, 4, 5, 4, 2, 1, 1, 0, 0, 0, 0},    /* One window for the whole image. */
};

enum { CONVS = sizeof convs / sizeof convs[0] };

static struct cuda_conv conv_for_device(const struct conv2d *conv)
{
    return (struct cuda_conv){
        .batch = conv->batch,
        .height = conv->height,
        .width = conv->width,
        .channels = conv->channels,
        .kernel_height = conv->kernel_height,
        .kernel_width = conv->kernel_width,
        .filters = conv->filters,
        .groups = conv->groups,
        .stride_height = conv->stride_height,
        .stride_width = conv->stride_width,
        .top = conv->top,
        .left = conv->left,
        .out_height = conv2d_out_height(conv),
        .out_width = conv2d_out_width(conv),
    };
}

struct sizes {
    size_t x, y, weights;
};

static struct sizes sizes_of(const struct conv2d *conv)
{
    const size_t taps = conv->kernel_height * conv->kernel_width;
    return (struct sizes){
        .x = conv->batch * conv->height * conv->width * conv->channels,
        .y = conv->batch * conv2d_out_height(conv) * conv2d_out_width(conv) * conv->filters,
        .weights = taps * conv->channels / conv->groups * conv->filters,
    };
}

static void compare_forward(const struct conv2d *conv, bool has_bias, bool relu)
{
    const struct portable *kernels = portable_fastest();
    const struct sizes sizes = sizes_of(conv);
    const struct cuda_conv task = conv_for_device(conv);
    float *x = mostly_finite(11, sizes.x), *weights = mostly_finite(13, sizes.weights);
    float *bias = mostly_finite(15, conv->filters), *y = allocate_floats(sizes.y);
    float *x_copy = floats_to_device(x, sizes.x), *found = device_memory(sizes.y * sizeof *found);
    float *weights_copy = floats_to_device(weights, sizes.weights);
    float *bias_copy = floats_to_device(bias, conv->filters);
    library->kernels->conv_forward(&task, x_copy, weights_copy, has_bias ? bias_copy : NULL, relu,
                                   found);
    float *packed = allocate_floats(conv2d_packed_size(kernels, conv));
    float *workspace = allocate_floats(conv2d_workspace(conv));
    struct conv2d_epilogue epilogue = {.bias = has_bias ? bias : NULL, .relu = relu};
    conv2d_pack(kernels, conv, weights, packed);
    conv2d_forward(kernels, conv, x, packed, epilogue, y, workspace);
    expect_floats("conv_forward", found, y, sizes.y);
    library->release(x_copy);
    library->release(weights_copy);
    library->release(bias_copy);
    free(x);
    free(weights);
    free(bias);
    free(y);
    free(packed);
    free(workspace);
}

static void compare_backward(const struct conv2d *conv)
{
    const struct portable *kernels = portable_fastest();
    const struct sizes sizes = sizes_of(conv);
    const struct cuda_conv task = conv_for_device(conv);
    float *x = mostly_finite(21, sizes.x), *weights = mostly_finite(23, sizes.weights);
    float *dy = mostly_finite(25, sizes.y), *dx = allocate_floats(sizes.x);
    float *dw = allocate_floats(sizes.weights);
    float *x_copy = floats_to_device(x, sizes.x), *dy_copy = floats_to_device(dy, sizes.y);
    float *weights_copy = floats_to_device(weights, sizes.weights);
    float *dx_found = device_memory(sizes.x * sizeof(float));
    float *dw_found = device_memory(sizes.weights * sizeof(float));
    library->kernels->conv_backward_data(&task, dy_copy, weights_copy, dx_found);
    library->kernels->conv_backward_weights(&task, x_copy, dy_copy, dw_found);
    float *packed = allocate_floats(conv2d_packed_backward_size(kernels, conv));
    float *scratch = allocate_floats(conv2d_pack_scratch(conv));
    float *workspace = allocate_floats(conv2d_workspace(conv));
    conv2d_pack_backward(kernels, conv, weights, packed, scratch);
    conv2d_backward_data(kernels, conv, dy, packed, dx, workspace);
    conv2d_backward_weights(kernels, conv, x, dy, false, dw, workspace);
    expect_floats("conv_backward_data", dx_found, dx, sizes.x);
    expect_floats("conv_backward_weights", dw_found, dw, sizes.weights);
    library->release(x_copy);
    library->release(dy_copy);
    library->release(weights_copy);
    float *const all[] = {x, weights, dy, dx, dw, packed, scratch, workspace};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
}

static void convolutions_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONVS; i++) {
        print_message("convolution %zu\n", i);
        compare_forward(&convs[i], i % 2 == 0, i % 3 == 0);
        compare_backward(&convs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_the_bits_of_the_cpu),
        cmocka_unit_test(convolutions_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
