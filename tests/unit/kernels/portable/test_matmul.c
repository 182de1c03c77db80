/* Batches of matrix products with any strides: one textbook loop for all classes. */
#include "kernels/portable/matmul.h"

#include <math.h>
#include <stdio.h>

#include "tests/unit/kernels/portable/classes.h"

enum { TRANSPOSE_A = 1, TRANSPOSE_B = 2, SHARED_B = 4, EPILOGUE = 8, GAPS = 16, PACKED = 32 };

static struct matmul_operand operand(const float *data, size_t rows, size_t columns,
                                     bool transposed, size_t gap)
{
    size_t stride = (transposed ? rows : columns) + gap;
    return (struct matmul_operand){
        .data = data,
        .batch = (transposed ? columns : rows) * stride,
        .row = transposed ? 1 : stride,
        .column = transposed ? stride : 1,
    };
}

static float textbook(const struct matmul *task, size_t pair, size_t i, size_t j)
{
    const float *a = task->a.data + pair * task->a.batch + i * task->a.row;
    const float *b = task->b.data + pair * task->b.batch + j * task->b.column;
    size_t at = pair * task->out_batch + i * task->out_row + j;
    float sum = 0;
    for (size_t p = 0; p < task->k; p++) {
        sum = fmaf(a[p * task->a.column], b[p * task->b.row], sum);
    }
    if (task->bias != NULL) { sum += task->bias[j]; }
    if (task->addend != NULL) { sum += task->addend[at]; }
    bool is_cut = task->relu && sum < 0.0F;
    return is_cut ? 0.0F : sum;
}

static void fill_expected(const struct matmul *task, float *expected)
{
    for (size_t pair = 0; pair < task->batch; pair++) {
        for (size_t i = 0; i < task->m; i++) {
            for (size_t j = 0; j < task->n; j++) {
                expected[pair * task->out_batch + i * task->out_row + j] =
                    textbook(task, pair, i, j);
            }
        }
    }
}

static void run(const struct portable *kernels, struct matmul task, uint64_t flags)
{
    float *packed = allocate_floats(matmul_packed_size(kernels, task.k, task.n));
    if ((flags & PACKED) != 0 && (flags & SHARED_B) != 0) {
        matmul_pack(kernels, task.k, task.n, &task.b, packed);
        task.packed = packed;
        task.b.data = NULL;
    }
    float *workspace = allocate_floats(matmul_workspace(kernels, &task));
    matmul_run(kernels, &task, workspace);
    free(packed), free(workspace);
}

static void check(size_t batch, size_t m, size_t n, size_t k, uint64_t flags)
{
    size_t gap = (flags & GAPS) != 0 ? 3 : 0, size = batch * m * (n + gap);
    float *a = random_floats(1, batch * (m + 3) * (k + 3));
    float *b = random_floats(2, batch * (k + 3) * (n + 3));
    float *bias = random_floats(3, n), *addend = random_floats(4, size);
    float *start = random_floats(5, size), *expected = copy_floats(start, size);
    struct matmul task = {
        .batch = batch,
        .m = m,
        .n = n,
        .k = k,
        .a = operand(a, m, k, (flags & TRANSPOSE_A) != 0, gap),
        .b = operand(b, k, n, (flags & TRANSPOSE_B) != 0, gap),
        .out_batch = m * (n + gap),
        .out_row = n + gap,
        .bias = (flags & EPILOGUE) != 0 ? bias : NULL,
        .addend = (flags & EPILOGUE) != 0 ? addend : NULL,
        .relu = (flags & EPILOGUE) != 0,
    };
    if ((flags & SHARED_B) != 0) { task.b.batch = 0; }
    fill_expected(&task, expected);
    char text[64];
    (void)snprintf(text, sizeof text, "%zu x %zu x %zu x %zu flags %d", batch, m, n, k, (int)flags);
    for (size_t c = 0; c < class_count; c++) {
        float *out = copy_floats(start, size);
        task.out = out;
        run(classes[c], task, flags);
        assert_same_bits(out, expected, size, classes[c]->name, text);
        free(out);
    }
    free(a), free(b), free(bias), free(addend), free(start), free(expected);
}

/* 200 random shapes with every combination of transposes, shared and packed operands, gaps. */
static void test_all_operands_have_the_bits_of_the_textbook(void **state)
{
    (void)state;
    struct random random = {.state = 21};
    for (uint64_t i = 0; i < 200; i++) {
        check(1 + random_below(&random, 4), random_size(&random, 40), random_size(&random, 70),
              random_size(&random, 50), i % 64);
    }
}

/* Operands whose rows lie a multiple of 4096 bytes apart are packed within the call. */
static void test_page_strides_do_not_change_the_bits(void **state)
{
    (void)state;
    check(2, 50, 1024, 5, 0);
    check(1, 49, 1024, 3, SHARED_B | EPILOGUE);
    check(1, 3, 5, 1024, TRANSPOSE_B);
}

/* Large operands are packed part by part of their columns and, where there is no addend, of k. */
static void test_parts_do_not_change_the_bits(void **state)
{
    (void)state;
    check(1, 49, 300, 1100, 0);
    check(1, 3, 300, 1100, TRANSPOSE_B | GAPS);
    check(3, 2, 290, 1000, TRANSPOSE_B | SHARED_B);
    check(2, 1, 290, 1000, TRANSPOSE_B | EPILOGUE);
}

/* Two runs of k are added, in the parts of a large operand as well. */
static void test_parts_add_runs(void **state)
{
    (void)state;
    enum { M = 49, N = 300, K = 1100 };
    float *a = random_floats(1, M * K), *b = random_floats(2, K * N);
    float *left = random_floats(3, M * N), *right = random_floats(4, M * N);
    struct matmul task = {.batch = 1, .m = M, .n = N, .k = K / 2, .out_batch = M * N, .out_row = N};
    task.a = operand(a, M, K, false, 0);
    task.b = operand(b, K, N, false, 0);
    fill_expected(&task, left);
    task.a.data += K / 2;
    task.b.data += K / 2 * N;
    fill_expected(&task, right);
    for (size_t i = 0; i < M * N; i++) { left[i] += right[i]; }
    task.a.data = a;
    task.b.data = b;
    task.k = K;
    task.runs = 2;
    for (size_t c = 0; c < class_count; c++) {
        task.out = right;
        run(classes[c], task, 0);
        assert_same_bits(right, left, M * N, classes[c]->name, "two runs");
    }
    free(a), free(b), free(left), free(right);
}

/* A call needs little memory for a large operand. */
static void test_workspace_is_that_of_a_part(void **state)
{
    (void)state;
    const size_t k = 4096, n = 4096;
    struct matmul task = {.batch = 1, .m = 1, .n = n, .k = k};
    task.b = operand(NULL, k, n, true, 0);
    for (size_t c = 0; c < class_count; c++) {
        assert_true(matmul_workspace(classes[c], &task) <= k * n / 32);
    }
    task.b = operand(NULL, k, n, false, 0);
    assert_int_equal(matmul_workspace(classes[0], &task), 0);
}

static bool packing_pays(size_t batch, size_t m, size_t n, bool turned)
{
    const size_t k = 100;
    const struct matmul task = {
        .batch = batch, .m = m, .n = n, .k = k, .b = operand(NULL, k, n, turned, 0)};
    return matmul_packing_pays(classes[class_count - 1], &task);
}

/* Narrow operands of a few rows are read where they are; turned ones are always packed. */
static void test_packing_pays_for_wide_and_for_turned_operands(void **state)
{
    (void)state;
    const size_t panel = classes[class_count - 1]->product->panel_columns;
    assert_false(packing_pays(1, 32, 128, false));
    assert_true(packing_pays(1, 32, 128, true));
    assert_true(packing_pays(1, 32, 129, false));
    assert_true(packing_pays(32, 32, 128, false));
    assert_false(packing_pays(32, 32, panel, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_operands_have_the_bits_of_the_textbook),
        cmocka_unit_test(test_page_strides_do_not_change_the_bits),
        cmocka_unit_test(test_parts_do_not_change_the_bits),
        cmocka_unit_test(test_parts_add_runs),
        cmocka_unit_test(test_workspace_is_that_of_a_part),
        cmocka_unit_test(test_packing_pays_for_wide_and_for_turned_operands),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
