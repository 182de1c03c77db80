/* Sums and maxima: the order of reduce.h in every class, near the sum in double. */
#include "kernels/portable/reduce.h"

#include <math.h>

#include "tests/unit/kernels/portable/classes.h"

enum { LANES = 16 };

/* The order of reduce.h, written out. */
static float sum_by_definition(size_t count, const float *x)
{
    float lane[LANES] = {0};
    for (size_t i = 0; i < count; i++) { lane[i % LANES] += x[i]; }
    for (size_t half = LANES / 2; half >= 1; half /= 2) {
        for (size_t i = 0; i < half; i++) { lane[i] += lane[i + half]; }
    }
    return lane[0];
}

static double dot_by_definition(size_t count, const float *x, const float *y)
{
    double lane[LANES] = {0};
    for (size_t i = 0; i < count; i++) { lane[i % LANES] += (double)x[i] * (double)y[i]; }
    for (size_t half = LANES / 2; half >= 1; half /= 2) {
        for (size_t i = 0; i < half; i++) { lane[i] += lane[i + half]; }
    }
    return lane[0];
}

/* Lengths 1 to 200: sums, scalar products and maxima equal the definition. */
static void test_rows_follow_the_definition(void **state)
{
    (void)state;
    float *x = random_floats(1, 200), *y = random_floats(2, 200);
    for (size_t count = 1; count <= 200; count++) {
        float expected = sum_by_definition(count, x), greatest = x[0];
        double dot = dot_by_definition(count, x, y), exact = 0;
        for (size_t i = 0; i < count; i++) {
            exact += (double)x[i];
            if (x[i] > greatest) { greatest = x[i]; }
        }
        assert_true(fabs((double)expected - exact) <= 0x1p-24 * 20 * (double)count);
        for (size_t c = 0; c < class_count; c++) {
            const struct reduce_kernels *kernels = classes[c]->reduce;
            float found[2] = {kernels->sum(count, x), kernels->greatest(count, x)};
            assert_same_bits(found, (float[]){expected, greatest}, 2, classes[c]->name, "a row");
            double product = kernels->dot(count, x, y);
            assert_memory_equal(&product, &dot, sizeof dot);
        }
    }
    free(x), free(y);
}

/* Sums over rows add row after row, from zero or from the values in `out`; columns of every
 * remainder. */
static void test_sums_over_rows_follow_the_definition(void **state)
{
    (void)state;
    struct random random = {.state = 40};
    for (int i = 0; i < 100; i++) {
        size_t rows = random_size(&random, 20), columns = random_size(&random, 150);
        size_t stride = columns + 3;
        float *matrix = random_floats(1, rows * stride), *start = random_floats(2, columns + rows);
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            float *expected = copy_floats(start, columns + rows);
            for (size_t c = 0; c < columns; c++) {
                float sum = accumulate != 0 ? start[c] : 0.0F;
                for (size_t r = 0; r < rows; r++) { sum += matrix[r * stride + c]; }
                expected[c] = sum;
            }
            for (size_t r = 0; r < rows; r++) {
                expected[columns + r] = sum_by_definition(columns, matrix + r * stride);
            }
            for (size_t c = 0; c < class_count; c++) {
                const struct reduce_kernels *kernels = classes[c]->reduce;
                float *out = copy_floats(start, columns + rows);
                kernels->sum_rows(rows, columns, matrix, stride, accumulate != 0, out);
                kernels->sum_columns(rows, columns, matrix, stride, out + columns);
                assert_same_bits(out, expected, columns + rows, classes[c]->name, "sums");
                free(out);
            }
            free(expected);
        }
        free(matrix), free(start);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_follow_the_definition),
        cmocka_unit_test(test_sums_over_rows_follow_the_definition),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
