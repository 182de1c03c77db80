/* The bits of matrix products: every class has those of the textbook loop over fmaf(). */
#include "kernels/portable/product.h"

#include <math.h>
#include <stdio.h>

#include "tests/unit/kernels/portable/classes.h"

/* A product with `runs` runs and uneven groups of rows, as convolutions have. */
struct shape {
    size_t m, n, run, runs;
    bool transposed, uneven, accumulate, epilogue, tree;
};

struct arrays {
    size_t a_size, b_size, out_size, out_row, b_row;
    float *a, *b, *bias, *addend, *start;
};

static struct product task_of(const struct shape *shape, const struct arrays *arrays)
{
    size_t k = shape->run * shape->runs;
    struct product_matrix a = {
        .data = arrays->a,
        .row = shape->transposed ? 1 : k + 3,
        .column = shape->transposed ? shape->m + 2 : 1,
    };
    struct product task = product_plain(classes[0]->product, shape->m, shape->n, shape->run, a,
                                        arrays->b, arrays->b_row, NULL, arrays->out_row);
    task.runs = shape->runs;
    task.a_jump = task.a_step * (ptrdiff_t)shape->run;
    task.b_jump = task.b_step * shape->run;
    if (shape->uneven) { task.a_group += 7; }
    task.accumulate = shape->accumulate;
    task.tree = shape->tree;
    if (shape->epilogue) {
        task.bias = arrays->bias;
        task.addend = arrays->addend;
        task.relu = true;
    }
    return task;
}

static struct arrays make_arrays(const struct shape *shape)
{
    size_t k = shape->run * shape->runs, m = shape->m, n = shape->n;
    struct arrays arrays = {
        .a_size = (shape->transposed ? k * (m + 2) : m * (k + 3)) + 7 * (m / PRODUCT_GROUP + 1),
        .b_row = n + 5,
        .out_row = n + 2,
    };
    arrays.b_size = k * arrays.b_row;
    arrays.out_size = m * arrays.out_row;
    arrays.a = random_floats(1, arrays.a_size);
    arrays.b = random_floats(2, arrays.b_size);
    arrays.bias = random_floats(3, n);
    arrays.addend = random_floats(4, arrays.out_size);
    arrays.start = random_floats(5, arrays.out_size);
    return arrays;
}

static void free_arrays(struct arrays *arrays)
{
    free(arrays->a), free(arrays->b), free(arrays->bias), free(arrays->addend), free(arrays->start);
}

/* The sum of runs [first, first + count), split at the largest power of two below `count`. */
static float sum_of_runs(const struct shape *shape, const struct product *task, const float *a,
                         const float *b, size_t first, size_t count)
{
    if (count > 1) {
        size_t half = 1;
        while (2 * half < count) { half *= 2; }
        const float left = sum_of_runs(shape, task, a, b, first, half);
        return left + sum_of_runs(shape, task, a, b, first + half, count - half);
    }
    float sum = 0.0F;
    for (size_t p = first * shape->run; p < (first + 1) * shape->run; p++) {
        sum = fmaf(a[(ptrdiff_t)p * task->a_step], b[p * task->b_step], sum);
    }
    return sum;
}

/* One output by the definition in product.h. Its distance to a sum in double stays below the bound
 * of k roundings. */
static float textbook(const struct shape *shape, const struct product *task, size_t i, size_t j)
{
    const float *a = task->a + (ptrdiff_t)(i / PRODUCT_GROUP) * task->a_group +
                     (ptrdiff_t)(i % PRODUCT_GROUP) * task->a_row;
    size_t k = shape->run * shape->runs, at = i * task->out_row + j;
    float sum = task->accumulate ? task->out[at] : 0.0F;
    double exact = (double)sum, size = fabs((double)sum);
    for (size_t p = 0; p < k; p++) {
        float x = a[(ptrdiff_t)p * task->a_step], y = task->b[p * task->b_step + j];
        sum = fmaf(x, y, sum);
        exact += (double)x * (double)y;
        size += fabs((double)x * (double)y);
    }
    assert_true(fabs((double)sum - exact) <= (double)(k + 1) * 0x1p-24 * size + 0x1p-100);
    if (task->tree) { sum = sum_of_runs(shape, task, a, task->b + j, 0, shape->runs); }
    if (task->bias != NULL) { sum = sum + task->bias[j]; }
    if (task->addend != NULL) { sum = sum + task->addend[at]; }
    bool is_cut = task->relu && sum < 0.0F;
    return is_cut ? 0.0F : sum;
}

static float *expected_of(const struct shape *shape, const struct arrays *arrays)
{
    float *out = copy_floats(arrays->start, arrays->out_size);
    struct product task = task_of(shape, arrays);
    task.out = arrays->start;
    for (size_t i = 0; i < shape->m; i++) {
        for (size_t j = 0; j < shape->n; j++) {
            out[i * task.out_row + j] = textbook(shape, &task, i, j);
        }
    }
    return out;
}

/* Plain and packed, in every class; the gaps between rows of `out` stay as they were. */
static void check(const struct shape *shape)
{
    struct arrays arrays = make_arrays(shape);
    float *expected = expected_of(shape, &arrays);
    size_t k = shape->run * shape->runs;
    char text[128];
    (void)snprintf(text, sizeof text, "%zu x %zu x %zu runs %zu%s%s%s", shape->m, shape->n,
                   shape->run, shape->runs, shape->transposed ? " transposed" : "",
                   shape->uneven ? " uneven" : "", shape->accumulate ? " accumulated" : "");
    for (size_t c = 0; c < class_count; c++) {
        const struct product_kernels *kernels = classes[c]->product;
        size_t w = kernels->panel_columns;
        float *panels = allocate_floats(product_packed_size(kernels, k, shape->n));
        kernels->pack(k, shape->n, arrays.b, arrays.b_row, 1, panels);
        for (int packed = 0; packed < 2; packed++) {
            float *out = copy_floats(arrays.start, arrays.out_size);
            struct product task = task_of(shape, &arrays);
            task.out = out;
            task.b = packed != 0 ? panels : arrays.b;
            task.b_panel = packed != 0 ? k * w : w;
            task.b_step = packed != 0 ? w : arrays.b_row;
            task.b_jump = task.b_step * shape->run;
            kernels->run(&task);
            assert_same_bits(out, expected, arrays.out_size, classes[c]->name, text);
            free(out);
        }
        free(panels);
    }
    free(expected);
    free_arrays(&arrays);
}

/* 300 random shapes with all kinds of operands and epilogues. */
static void test_every_class_has_the_bits_of_the_textbook(void **state)
{
    (void)state;
    struct random random = {.state = 20};
    for (int i = 0; i < 300; i++) {
        uint64_t flags = random_next(&random);
        struct shape shape = {
            .m = random_size(&random, 70),
            .n = random_size(&random, 100),
            .run = random_size(&random, 80),
            .runs = (flags & 1) != 0 ? 1 + random_below(&random, 4) : 1,
            .transposed = (flags & 2) != 0,
            .uneven = (flags & 12) == 0,
            .accumulate = (flags & 16) != 0,
            .epilogue = (flags & 32) != 0,
        };
        check(&shape);
    }
}

/* Every number of runs up to 20, so every form of a tree; the bits are not those of one sum. */
static void test_runs_are_added_over_a_tree(void **state)
{
    (void)state;
    for (size_t runs = 1; runs <= 20; runs++) {
        check(&(struct shape){.m = 17, .n = 40, .run = 5, .runs = runs, .tree = true});
        check(&(struct shape){.m = 40,
                              .n = 7,
                              .run = 3,
                              .runs = runs,
                              .transposed = true,
                              .epilogue = true,
                              .tree = true});
    }
    const struct shape shape = {.m = 30, .n = 30, .run = 5, .runs = 4, .tree = true};
    struct shape one = shape;
    one.tree = false;
    struct arrays arrays = make_arrays(&shape);
    float *added = expected_of(&shape, &arrays), *summed = expected_of(&one, &arrays);
    assert_memory_not_equal(added, summed, arrays.out_size * sizeof *added);
    free(added), free(summed);
    free_arrays(&arrays);
}

/* Sums longer than a block of k, and more rows than a block of rows. */
static void test_blocks_do_not_change_the_bits(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {.m = 3, .n = 33, .run = 2000, .runs = 1, .epilogue = true},
        {.m = 20, .n = 5, .run = 513, .runs = 1, .accumulate = true},
        {.m = 400, .n = 17, .run = 257, .runs = 1},
        {.m = 337, .n = 70, .run = 9, .runs = 3},
        {.m = 1, .n = 1, .run = 4099, .runs = 1},
        {.m = 27, .n = 40, .run = 30, .runs = 2, .uneven = true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) { check(&shapes[i]); }
}

/* Rows a multiple of 4096 bytes apart are copied; copies do not change the bits. */
static void test_copied_rows_do_not_change_the_bits(void **state)
{
    (void)state;
    enum { M = 61, N = 70, K = 1024 };
    float *a = random_floats(1, (size_t)M * K), *b = random_floats(2, (size_t)N * K);
    float *turned = allocate_floats((size_t)K * K);
    for (size_t i = 0; i < M; i++) {
        for (size_t p = 0; p < K; p++) { turned[p * K + i] = a[i * K + p]; }
    }
    float *expected = allocate_floats((size_t)M * N), *out = allocate_floats((size_t)M * N);
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            float sum = 0;
            for (size_t p = 0; p < K; p++) { sum = fmaf(a[i * K + p], b[p * N + j], sum); }
            expected[i * N + j] = sum;
        }
    }
    const struct product_matrix ways[] = {{a, K, 1}, {turned, 1, K}};
    for (size_t c = 0; c < class_count; c++) {
        for (size_t way = 0; way < 2; way++) {
            struct product task =
                product_plain(classes[c]->product, M, N, K, ways[way], b, N, out, N);
            classes[c]->product->run(&task);
            assert_same_bits(out, expected, (size_t)M * N, classes[c]->name, "copied rows");
        }
    }
    free(a), free(b), free(turned), free(expected), free(out);
}

/* Packing any strides equals packing a plain copy. */
static void test_packing_takes_any_strides(void **state)
{
    (void)state;
    enum { K = 37, N = 45 };
    float *plain = random_floats(1, (size_t)K * N), *turned = allocate_floats((size_t)K * N);
    for (size_t p = 0; p < K; p++) {
        for (size_t j = 0; j < N; j++) { turned[j * K + p] = plain[p * N + j]; }
    }
    for (size_t c = 0; c < class_count; c++) {
        const struct product_kernels *kernels = classes[c]->product;
        size_t size = product_packed_size(kernels, K, N);
        float *first = allocate_floats(size), *second = allocate_floats(size);
        kernels->pack(K, N, plain, N, 1, first);
        kernels->pack(K, N, turned, 1, K, second);
        assert_same_bits(second, first, size, classes[c]->name, "packed");
        free(first), free(second);
    }
    free(plain), free(turned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_class_has_the_bits_of_the_textbook),
        cmocka_unit_test(test_runs_are_added_over_a_tree),
        cmocka_unit_test(test_blocks_do_not_change_the_bits),
        cmocka_unit_test(test_copied_rows_do_not_change_the_bits),
        cmocka_unit_test(test_packing_takes_any_strides),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
