/* kernels/cuda/library.h with cuBLAS: products of all shapes, of attention and of convolutions are
 * those of plain loops in double precision, within the bound of rounding for sums of k products;
 * with bf16, of operands that the test itself has rounded.
 * The driver and cuBLAS are those that the loader finds: the emulated ones in this test's
 * environment (tests/CMakeLists.txt). */
#include "tests/unit/kernels/cuda/device.h"

static const struct cuda_library *own; /* With the bits of `portable`. */
static const struct cuda_library *tf32, *bf16;

/* The error of an operand that is cut off to TF32, as a share of it. */
#define TF32_UNIT 0x1p-10

static int open_both(void **state)
{
    (void)state;
    struct error error = {.status = TN_OK};
    if (cuda_library_open(0, &own, &error) == TN_OK &&
        cuda_library_open_cublas(0, CUDA_FLOAT32, &library, &error) == TN_OK &&
        cuda_library_open_cublas(0, CUDA_TF32, &tf32, &error) == TN_OK &&
        cuda_library_open_cublas(0, CUDA_BF16, &bf16, &error) == TN_OK) {
        return 0;
    }
    print_error("%s\n", error.text);
    return -1;
}

/* ------------------------------------------------------ matrices */

/* A product, with operands and results of the host. */
struct case_of_product {
    struct cuda_matmul task; /* The data are the device's. */
    size_t left_count, right_count, results;
    float *left, *right, *bias, *before;
};

static double element(const float *data, const struct cuda_operand *x, size_t pair, size_t i,
                      size_t j)
{
    return (double)data[pair * x->batch + i * x->row + j * x->column];
}

/* How many results differ by more than rounding can explain: (k + 3) u times the sum of the
 * magnitudes, u = 2^-24, for any order of the additions, with the result before and the bias; and
 * with TF32 the rounding of both operands. */
static size_t count_wrong(const struct case_of_product *product, const float *found)
{
    const struct cuda_matmul *t = &product->task;
    const double operands = t->rounding.precision == CUDA_TF32 ? 2.01 * TF32_UNIT : 0;
    size_t wrong = 0;
    for (size_t at = 0; at < product->results; at++) {
        const size_t j = at % t->n, i = at / t->n % t->m, pair = at / t->n / t->m;
        double sum = t->accumulate ? (double)product->before[at] : 0;
        double size = fabs(sum);
        for (size_t p = 0; p < t->k; p++) {
            const double term = element(product->left, &t->a, pair, i, p) *
                                element(product->right, &t->b, pair, p, j);
            sum += term;
            size += fabs(term);
        }
        if (t->bias != NULL) {
            sum += (double)product->bias[j];
            size += fabs((double)product->bias[j]);
        }
        if (t->relu && sum < 0) { sum = 0; }
        /* Not `>`: a NaN is wrong. */
        wrong +=
            !(fabs((double)found[at] - sum) <= ((double)(t->k + 3) * 0x1p-24 + operands) * size);
    }
    return wrong;
}

static struct cuda_operand any_operand(struct random *random, size_t rows, size_t columns,
                                       size_t batch, bool shares)
{
    const bool is_turned = random_below(random, 2) == 0;
    const size_t gap = random_below(random, 3) == 0 ? random_below(random, 4) : 0;
    struct cuda_operand operand = {.row = is_turned ? 1 : columns + gap,
                                   .column = is_turned ? rows + gap : 1};
    operand.batch = batch == 1 || shares ? 0 : (rows + gap) * (columns + gap);
    return operand;
}

/* To the nearest and to even, in double precision. No number is subnormal or too large. */
static void round_all(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int exponent = 0;
        const double part = frexp((double)x[i], &exponent);
        x[i] = (float)ldexp(nearbyint(ldexp(part, 8)), exponent - 8);
    }
}

static size_t floats_of(const struct cuda_operand *x, size_t batch, size_t rows, size_t columns)
{
    return (x->batch == 0 ? 1 : batch) * rows * columns;
}

/* For this library: with bf16, as much memory as the product needs, and rounded operands for the
 * plain loops. */
static void prepare_for(struct case_of_product *product, const struct cuda_library *with)
{
    struct cuda_matmul *t = &product->task;
    t->rounding.precision = with->kernels->precision;
    if (t->rounding.precision != CUDA_BF16) { return; }
    const size_t bytes = cuda_rounded_bytes(CUDA_BF16, floats_of(&t->a, t->batch, t->m, t->k),
                                            floats_of(&t->b, t->batch, t->k, t->n));
    t->rounding.operands = device_memory(bytes + 1);
    round_all(product->left, product->left_count);
    round_all(product->right, product->right_count);
}

static struct case_of_product new_product(struct cuda_matmul task, bool has_bias)
{
    const size_t gap = 4;
    struct case_of_product product = {.task = task, .results = task.batch * task.m * task.n};
    product.left_count = task.batch * (task.m + gap) * (task.k + gap);
    product.right_count = task.batch * (task.k + gap) * (task.n + gap);
    product.left = random_floats(31, product.left_count);
    product.right = random_floats(32, product.right_count);
    product.bias = random_floats(33, task.n);
    product.before = random_floats(34, product.results);
    product.task.a.data = floats_to_device(product.left, product.left_count);
    product.task.b.data = floats_to_device(product.right, product.right_count);
    product.task.bias = has_bias ? floats_to_device(product.bias, task.n) : NULL;
    product.task.out = floats_to_device(product.before, product.results);
    return product;
}

static void free_product(struct case_of_product *product)
{
    library->release((void *)(uintptr_t)product->task.a.data);
    library->release((void *)(uintptr_t)product->task.b.data);
    library->release((void *)(uintptr_t)product->task.bias);
    library->release(product->task.rounding.operands);
    free(product->left);
    free(product->right);
    free(product->bias);
    free(product->before);
}

/* By cuBLAS in each precision, and in Tanist's own kernel, which the bound must also hold for. What
 * cuBLAS cannot express is computed by that one, in float32. */
static void check_product(struct cuda_matmul task, bool has_bias, bool is_expressed)
{
    const struct cuda_library *const all[] = {own, library, tf32, bf16};
    for (size_t i = 0; i < (is_expressed ? 4 : 3); i++) {
        struct case_of_product product = new_product(task, has_bias);
        prepare_for(&product, all[i]);
        all[i]->kernels->matmul(&product.task);
        float *found = from_device(product.task.out, product.results * sizeof *found);
        const size_t wrong = count_wrong(&product, found);
        compared += product.results;
        different += wrong;
        if (wrong > 0) {
            fail_msg("%s: %zu results of %zu pairs %zu x %zu x %zu are wrong", all[i]->name, wrong,
                     task.batch, task.m, task.k, task.n);
        }
        free(found);
        free_product(&product);
    }
}

/* Operands as they are or transposed, with and without gaps between rows, one for all pairs or one
 * each; accumulation, bias, relu. */
static void products_of_all_shapes_are_right(void **state)
{
    (void)state;
    struct random random = {5};
    for (size_t i = 0; i < 150; i++) {
        struct cuda_matmul task = {
            .batch = random_size(&random, 3),
            .m = random_size(&random, i % 5 == 0 ? 1 : 30),
            .n = random_size(&random, i % 7 == 0 ? 1 : 30),
            .k = random_size(&random, i % 11 == 0 ? 1 : 40),
            .accumulate = random_below(&random, 3) == 0,
            .relu = random_below(&random, 3) == 0,
        };
        task.a = any_operand(&random, task.m, task.k, task.batch, random_below(&random, 3) == 0);
        task.b = any_operand(&random, task.k, task.n, task.batch, random_below(&random, 3) == 0);
        check_product(task, random_below(&random, 2) == 0, true);
    }
}

/* Tanist's own kernel computes operands without contiguous rows or columns, and empty sums. */
static void products_that_cublas_cannot_express_are_right(void **state)
{
    (void)state;
    const struct cuda_operand wide = {.row = 14, .column = 2}, plain = {.row = 5, .column = 1};
    check_product((struct cuda_matmul){.batch = 1, .m = 6, .n = 5, .k = 7, .a = wide, .b = plain},
                  true, false);
    check_product((struct cuda_matmul){.batch = 1,
                                       .m = 7,
                                       .n = 5,
                                       .k = 4,
                                       .a = {.row = 4, .column = 1},
                                       .b = {.row = 2, .column = 11}},
                  false, false);
    check_product(
        (struct cuda_matmul){
            .batch = 1, .m = 3, .n = 5, .k = 0, .a = {.row = 1, .column = 1}, .b = plain},
        true, false);
}

/* The bound is narrow: a transposed operand, a swapped pair, one product less and a wrong row are
 * found. */
static void mistakes_are_found(void **state)
{
    (void)state;
    enum { SIDE = 20, PAIR = SIDE * SIDE };
    const struct cuda_matmul right = {.batch = 2,
                                      .m = SIDE,
                                      .n = SIDE,
                                      .k = SIDE,
                                      .a = {.batch = PAIR, .row = SIDE, .column = 1},
                                      .b = {.batch = PAIR, .row = SIDE, .column = 1}};
    struct cuda_matmul mistakes[] = {right, right, right, right, right};
    mistakes[0].a.row = 1;
    mistakes[0].a.column = SIDE;
    mistakes[1].b.row = 1;
    mistakes[1].b.column = SIDE;
    mistakes[2].k = SIDE - 1;
    mistakes[3].b.batch = 0;
    mistakes[4].a.row = SIDE + 1;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct case_of_product product = new_product(right, false);
        struct cuda_matmul task = mistakes[i];
        task.a.data = product.task.a.data;
        task.b.data = product.task.b.data;
        task.out = product.task.out;
        library->kernels->matmul(&task);
        float *found = from_device(product.task.out, product.results * sizeof *found);
        assert_true(count_wrong(&product, found) > product.results / 4);
        free(found);
        free_product(&product);
    }
}

/* The same call has the same bits. Each precision and Tanist's own kernel have others. */
static void bits_repeat(void **state)
{
    (void)state;
    struct cuda_matmul task = {.batch = 1,
                               .m = 24,
                               .n = 17,
                               .k = 90,
                               .a = {.row = 90, .column = 1},
                               .b = {.row = 17, .column = 1}};
    const struct cuda_library *const calls[] = {library, tf32, bf16, own, library, tf32, bf16};
    enum { KINDS = 4, CALLS = 7 };
    float *found[CALLS];
    for (size_t i = 0; i < CALLS; i++) {
        struct case_of_product product = new_product(task, false);
        prepare_for(&product, calls[i]);
        calls[i]->kernels->matmul(&product.task);
        found[i] = from_device(product.task.out, product.results * sizeof(float));
        free_product(&product);
    }
    const size_t bytes = 24 * 17 * sizeof(float);
    for (size_t i = KINDS; i < CALLS; i++) {
        assert_memory_equal(found[i - KINDS], found[i], bytes);
    }
    for (size_t i = 0; i < KINDS; i++) {
        for (size_t j = 0; j < i; j++) { assert_memory_not_equal(found[i], found[j], bytes); }
    }
    for (size_t i = 0; i < CALLS; i++) { free(found[i]); }
}

/* ------------------------------------------------------ attention and convolutions */

/* A share of the largest result, for the few rounded operands on the way to any. */
static double tolerance_of(const struct cuda_library *with)
{
    static const double tolerances[] = {
        [CUDA_FLOAT32] = 2e-6, [CUDA_TF32] = 4 * TF32_UNIT, [CUDA_BF16] = 4 * 0x1p-8};
    return tolerances[with->kernels->precision];
}

/* Results of both libraries. */
static void expect_close(const char *name, const struct cuda_library *with, float *memory,
                         float *expected_memory, size_t count)
{
    float *found = from_device(memory, count * sizeof *found);
    float *expected = from_device(expected_memory, count * sizeof *expected);
    double most = 0;
    for (size_t i = 0; i < count; i++) { most = fmax(most, fabs((double)expected[i])); }
    compared += count;
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)found[i] - (double)expected[i]) <= tolerance_of(with) * most)) {
            fail_msg("%s: result %zu is %a, expected %a", name, i, (double)found[i],
                     (double)expected[i]);
        }
    }
    free(found);
    free(expected);
}

static float *new_results(size_t count)
{
    return device_memory(count * sizeof(float));
}

enum { Q, K, V, DOUT, OPERANDS };
enum { P, OUT, DS, DQ, DK, DV, RESULTS };

static void compute_attention(const struct cuda_library *with, const struct cuda_attention *task,
                              float *const *in, float *const *out)
{
    with->kernels->attention(task, in[Q], in[K], in[V], out[P], out[OUT]);
    const struct cuda_attention_gradient arrays = {
        .q = in[Q],
        .k = in[K],
        .v = in[V],
        .p = out[P],
        .dout = in[DOUT],
        .ds = out[DS],
        .dq = out[DQ],
        .dk = out[DK],
        .dv = out[DV],
    };
    with->kernels->attention_gradient(task, &arrays);
}

/* Memory for two operands of at most this many floats, if it is needed. */
static struct cuda_rounding rounding_with(const struct cuda_library *with, size_t most)
{
    const enum cuda_precision precision = with->kernels->precision;
    const size_t bytes = cuda_rounded_bytes(precision, most, most);
    return (struct cuda_rounding){precision, bytes > 0 ? device_memory(bytes) : NULL};
}

static void check_attention(struct cuda_attention found_task, const struct cuda_library *with)
{
    const struct cuda_attention *task = &found_task;
    const size_t heads = task->batch * task->heads, q = heads * task->queries * task->width;
    const size_t k = heads * task->keys * task->width, v = heads * task->keys * task->value_width;
    const size_t p = heads * task->queries * task->keys;
    const size_t out = heads * task->queries * task->value_width;
    const size_t inputs[OPERANDS] = {[Q] = q, [K] = k, [V] = v, [DOUT] = out};
    const size_t results[RESULTS] = {[P] = p, [OUT] = out, [DS] = p, [DQ] = q, [DK] = k, [DV] = v};
    float *in[OPERANDS], *found[RESULTS], *expected[RESULTS];
    for (size_t i = 0; i < OPERANDS; i++) {
        float *data = random_floats(40 + i, inputs[i]);
        in[i] = floats_to_device(data, inputs[i]);
        free(data);
    }
    for (size_t i = 0; i < RESULTS; i++) {
        found[i] = new_results(results[i]);
        expected[i] = new_results(results[i]);
    }
    found_task.rounding = rounding_with(with, size_max(size_max(q, k), size_max(v, p)) + out);
    compute_attention(with, task, in, found);
    compute_attention(own, task, in, expected);
    library->release(found_task.rounding.operands);
    for (size_t i = 0; i < RESULTS; i++) {
        expect_close("attention", with, found[i], expected[i], results[i]);
    }
    for (size_t i = 0; i < OPERANDS; i++) { library->release(in[i]); }
}

static void attention_is_right(void **state)
{
    (void)state;
    const struct cuda_attention tasks[] = {
        {2, 3, 9, 7, 5, 6, false, 0.4F, {CUDA_FLOAT32, NULL}},
        {1, 2, 40, 40, 8, 8, true, 0.3F, {CUDA_FLOAT32, NULL}}, /* More than a block of queries. */
        {2, 1, 1, 5, 4, 3, false, 0.5F, {CUDA_FLOAT32, NULL}},
    };
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        check_attention(tasks[i], library);
        check_attention(tasks[i], tf32);
        check_attention(tasks[i], bf16);
    }
}

static void compute_conv(const struct cuda_library *with, const struct cuda_conv *conv,
                         float *const *in, float *const *out)
{
    with->kernels->conv_forward(conv, in[0], in[1], in[2], true, out[0]);
    with->kernels->conv_backward_data(conv, in[3], in[1], out[1]);
    with->kernels->conv_backward_weights(conv, in[0], in[3], out[2]);
}

static void check_conv(struct cuda_conv found_conv, const struct cuda_library *with)
{
    const struct cuda_conv *conv = &found_conv;
    const size_t x = conv->batch * conv->height * conv->width * conv->channels;
    const size_t y = conv->batch * conv->out_height * conv->out_width * conv->filters;
    const size_t weights =
        conv->kernel_height * conv->kernel_width * conv->channels / conv->groups * conv->filters;
    const size_t inputs[] = {x, weights, conv->filters, y}, results[] = {y, x, weights};
    float *in[4], *found[3], *expected[3];
    for (size_t i = 0; i < 4; i++) {
        float *data = random_floats(50 + i, inputs[i]);
        in[i] = floats_to_device(data, inputs[i]);
        free(data);
    }
    for (size_t i = 0; i < 3; i++) {
        found[i] = new_results(results[i]);
        expected[i] = new_results(results[i]);
    }
    found_conv.rounding = rounding_with(with, size_max(size_max(x, y), weights));
    compute_conv(with, conv, in, found);
    compute_conv(own, conv, in, expected);
    library->release(found_conv.rounding.operands);
    for (size_t i = 0; i < 3; i++) {
        expect_close("convolution", with, found[i], expected[i], results[i]);
    }
    for (size_t i = 0; i < 4; i++) { library->release(in[i]); }
}

/* One pixel: by cuBLAS. The others, also strided, padded and in groups: by Tanist's own kernel. */
static void convolutions_are_right(void **state)
{
    (void)state;
    const struct cuda_conv convs[] = {
        {3, 5, 4, 7, 1, 1, 9, 1, 1, 1, 0, 0, 5, 4, {CUDA_FLOAT32, NULL}},
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, {CUDA_FLOAT32, NULL}},
        {1, 6, 5, 2, 1, 1, 3, 1, 2, 2, 0, 0, 3, 3, {CUDA_FLOAT32, NULL}},
        {2, 4, 4, 6, 1, 1, 4, 2, 1, 1, 0, 0, 4, 4, {CUDA_FLOAT32, NULL}},
        {1, 4, 4, 3, 1, 1, 2, 1, 1, 1, 1, 1, 6, 6, {CUDA_FLOAT32, NULL}},
        {2, 9, 7, 3, 3, 3, 5, 1, 1, 1, 1, 1, 9, 7, {CUDA_FLOAT32, NULL}},
    };
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++) {
        check_conv(convs[i], library);
        check_conv(convs[i], tf32);
        check_conv(convs[i], bf16);
    }
}

int main(void)
{
#if defined(__SANITIZE_THREAD__)
    print_message("skipped: one thread with fibers, which take minutes under ThreadSanitizer\n");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_all_shapes_are_right),
        cmocka_unit_test(products_that_cublas_cannot_express_are_right),
        cmocka_unit_test(mistakes_are_found),
        cmocka_unit_test(bits_repeat),
        cmocka_unit_test(attention_is_right),
        cmocka_unit_test(convolutions_are_right),
    };
    return cmocka_run_group_tests(tests, open_both, close_library);
}
