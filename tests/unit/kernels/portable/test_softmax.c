/* Softmax and cross entropy: near the result in double, and equal bits in every class. */
#include "kernels/portable/softmax.h"

#include <math.h>

#include "tests/unit/kernels/portable/classes.h"

static size_t seen(const struct softmax_rows *task, size_t row)
{
    return size_min(task->visible + row * task->more, task->columns);
}

/* y in double for one row. */
static void softmax_in_double(size_t count, double scale, const float *x, double *y)
{
    double greatest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) { greatest = fmax(greatest, scale * (double)x[i]); }
    for (size_t i = 0; i < count; i++) { sum += y[i] = exp(scale * (double)x[i] - greatest); }
    for (size_t i = 0; i < count; i++) { y[i] /= sum; }
}

static void assert_near(float found, double exact, double size)
{
    if (!(fabs((double)found - exact) <= 4e-6 * size + 1e-30)) {
        fail_msg("%.9g is not near %.9g", (double)found, exact);
    }
}

static void check_values(const struct softmax_rows *task, const float *x, const float *dy,
                         const float *y, const float *dx)
{
    double *exact = malloc(task->columns * sizeof *exact);
    assert_non_null(exact);
    for (size_t r = 0; r < task->rows; r++) {
        size_t count = seen(task, r), at = r * task->stride;
        double dot = 0, scale = (double)task->scale;
        softmax_in_double(count, scale, x + at, exact);
        for (size_t i = 0; i < count; i++) { dot += exact[i] * (double)dy[at + i]; }
        for (size_t i = 0; i < task->columns; i++) {
            if (i >= count) {
                assert_true(y[at + i] == 0.0F);
                assert_true(dx[at + i] == 0.0F);
                continue;
            }
            assert_near(y[at + i], exact[i], exact[i]);
            assert_near(dx[at + i], scale * exact[i] * ((double)dy[at + i] - dot), exact[i]);
        }
    }
    free(exact);
}

static void check_softmax(const struct softmax_rows *task)
{
    size_t size = task->rows * task->stride;
    float *x = random_floats(1, size), *dy = random_floats(2, size);
    float *first_y = NULL, *first_dx = NULL;
    for (size_t i = 0; i < size; i++) { x[i] *= 20.0F; }
    for (size_t c = 0; c < class_count; c++) {
        const struct softmax_kernels *kernels = classes[c]->softmax;
        float *y = copy_floats(x, size), *dx = copy_floats(dy, size);
        kernels->forward(task, y, y);
        kernels->backward(task, y, dx, dx);
        if (c == 0) {
            check_values(task, x, dy, y, dx);
            first_y = copy_floats(y, size);
            first_dx = copy_floats(dx, size);
        }
        assert_same_bits(y, first_y, size, classes[c]->name, "softmax");
        assert_same_bits(dx, first_dx, size, classes[c]->name, "softmax's gradient");
        free(y), free(dx);
    }
    free(x), free(dy), free(first_y), free(first_dx);
}

/* 150 random shapes, causal or not, with gaps between rows. */
static void test_softmax_is_accurate_and_portable(void **state)
{
    (void)state;
    struct random random = {.state = 50};
    for (size_t i = 0; i < 150; i++) {
        size_t columns = random_size(&random, 120);
        struct softmax_rows task = {
            .rows = random_size(&random, 20),
            .columns = columns,
            .stride = columns + random_below(&random, 3),
            .visible = i % 2 == 0 ? columns : 1 + random_below(&random, columns),
            .more = i % 2,
            .scale = i % 3 == 0 ? 1.0F : 0.176776695F,
        };
        check_softmax(&task);
    }
}

static void check_cross_entropy(size_t rows, size_t columns)
{
    size_t size = rows * columns;
    float *logits = random_floats(1, size), *weights = random_floats(2, rows);
    int32_t *labels = calloc(rows, sizeof *labels);
    float *expected = allocate_floats(2 * size + rows), *out = allocate_floats(2 * size + rows);
    double *exact = malloc(columns * sizeof *exact);
    for (size_t i = 0; i < size; i++) { logits[i] *= 12.0F; }
    for (size_t r = 0; r < rows; r++) { labels[r] = (int32_t)((r * 7 + 3) % columns); }
    for (size_t c = 0; c < class_count; c++) {
        const struct softmax_kernels *kernels = classes[c]->softmax;
        float *probabilities = out, *gradient = out + size, *losses = out + 2 * size;
        kernels->cross_entropy(rows, columns, logits, labels, losses, probabilities);
        kernels->cross_entropy_backward(rows, columns, probabilities, labels, weights, gradient);
        if (c == 0) { memcpy(expected, out, (2 * size + rows) * sizeof *out); }
        assert_same_bits(out, expected, 2 * size + rows, classes[c]->name, "cross entropy");
        kernels->cross_entropy_backward(rows, columns, probabilities, labels, weights,
                                        probabilities);
        assert_same_bits(probabilities, gradient, size, classes[c]->name, "in place");
        kernels->cross_entropy(rows, columns, logits, labels, losses, probabilities);
        for (size_t r = 0; r < rows && c == 0; r++) {
            softmax_in_double(columns, 1, logits + r * columns, exact);
            double loss = -log(exact[labels[r]]);
            assert_near(losses[r], loss, 1 + fabs(loss));
            for (size_t i = 0; i < columns; i++) {
                double hit = (size_t)labels[r] == i, weight = (double)weights[r];
                assert_near(gradient[r * columns + i], (exact[i] - hit) * weight, fabs(weight));
            }
        }
    }
    free(logits), free(weights), free(labels), free(expected), free(out), free(exact);
}

static void test_cross_entropy_is_accurate_and_portable(void **state)
{
    (void)state;
    struct random random = {.state = 51};
    for (int i = 0; i < 100; i++) {
        check_cross_entropy(random_size(&random, 20), random_size(&random, 100));
    }
}

/* A NaN or an infinity in a row makes NaNs of its row and leaves the others. */
static void test_a_nan_stays_in_its_row(void **state)
{
    (void)state;
    for (size_t c = 0; c < class_count; c++) {
        float x[3][5] = {{1, 2, 3, 4, 5}, {1, NAN, 3, 4, 5}, {5, 4, 3, INFINITY, 1}}, y[3][5];
        struct softmax_rows task = {3, 5, 5, 5, 0, 1.0F};
        classes[c]->softmax->forward(&task, x[0], y[0]);
        for (size_t i = 0; i < 5; i++) {
            assert_true(isfinite(y[0][i]));
            assert_true(isnan(y[1][i]));
        }
        assert_true(isnan(y[2][3]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_is_accurate_and_portable),
        cmocka_unit_test(test_cross_entropy_is_accurate_and_portable),
        cmocka_unit_test(test_a_nan_stays_in_its_row),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
