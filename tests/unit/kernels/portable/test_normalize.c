/* Layer normalisation: near the result in double, and equal bits in every class. */
#include "kernels/portable/normalize.h"

#include <math.h>

#include "tests/unit/kernels/portable/classes.h"

struct arrays {
    size_t rows, columns;
    float *x, *gain, *bias, *dy;
};

/* y, dx, dgain, dbias of all rows in double. */
static void in_double(const struct arrays *in, double *y, double *dx, double *dgain, double *dbias)
{
    size_t columns = in->columns;
    for (size_t r = 0; r < in->rows; r++) {
        const float *x = in->x + r * columns, *dy = in->dy + r * columns;
        double mean = 0, variance = 0, a = 0, b = 0;
        for (size_t i = 0; i < columns; i++) { mean += (double)x[i] / (double)columns; }
        for (size_t i = 0; i < columns; i++) {
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)columns;
        }
        double rstd = 1 / sqrt(variance + 1e-5);
        for (size_t i = 0; i < columns; i++) {
            double normal = ((double)x[i] - mean) * rstd, d = (double)dy[i] * (double)in->gain[i];
            y[r * columns + i] = normal * (double)in->gain[i] + (double)in->bias[i];
            a += d / (double)columns;
            b += d * normal / (double)columns;
            dgain[i] += (double)dy[i] * normal;
            dbias[i] += (double)dy[i];
        }
        for (size_t i = 0; i < columns; i++) {
            double normal = ((double)x[i] - mean) * rstd, d = (double)dy[i] * (double)in->gain[i];
            dx[r * columns + i] = rstd * (d - a - normal * b);
        }
    }
}

static void assert_all_near(const float *found, const double *exact, size_t count, double size)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)found[i] - exact[i]) <= 2e-5 * (size + fabs(exact[i])))) {
            fail_msg("element %zu: %.9g is not near %.9g", i, (double)found[i], exact[i]);
        }
    }
}

/* The results of one class, one array behind another: y, dx, dgain, dbias, mean, rstd. */
static float *run(const struct portable *kernels, const struct arrays *in)
{
    size_t size = in->rows * in->columns;
    float *out = calloc(2 * size + 2 * in->columns + 2 * in->rows, sizeof *out);
    assert_non_null(out);
    float *dgain = out + 2 * size, *mean = dgain + 2 * in->columns;
    struct layer_norm task = {
        .rows = in->rows,
        .columns = in->columns,
        .x = in->x,
        .gain = in->gain,
        .mean = mean,
        .rstd = mean + in->rows,
    };
    kernels->normalize->layer_forward(&task, in->bias, 1e-5F, out);
    memcpy(out + size, in->dy, size * sizeof *out);
    kernels->normalize->layer_backward(&task, out + size, out + size, dgain, dgain + in->columns);
    return out;
}

static void check(size_t rows, size_t columns)
{
    size_t size = rows * columns, all = 2 * size + 2 * columns + 2 * rows;
    struct arrays in = {rows,
                        columns,
                        random_floats(1, size),
                        random_floats(2, columns),
                        random_floats(3, columns),
                        random_floats(4, size)};
    double *exact = calloc(all, sizeof *exact);
    assert_non_null(exact);
    in_double(&in, exact, exact + size, exact + 2 * size, exact + 2 * size + columns);
    float *expected = run(classes[0], &in);
    double size_of_dx = columns > 2 ? 10 : 1000; /* With two columns, differences cancel. */
    assert_all_near(expected, exact, size, 10);
    assert_all_near(expected + size, exact + size, size, size_of_dx);
    assert_all_near(expected + 2 * size, exact + 2 * size, 2 * columns, (double)rows);
    for (size_t c = 1; c < class_count; c++) {
        float *out = run(classes[c], &in);
        assert_same_bits(out, expected, all, classes[c]->name, "layer norm");
        free(out);
    }
    free(in.x), free(in.gain), free(in.bias), free(in.dy), free(exact), free(expected);
}

/* 100 random shapes. */
static void test_layer_norm_is_accurate_and_portable(void **state)
{
    (void)state;
    struct random random = {.state = 60};
    for (int i = 0; i < 100; i++) {
        check(random_size(&random, 12), 1 + random_size(&random, 130));
    }
}

/* Gradients of gain and bias are added to their arrays, row by row, so a batch may be cut. */
static void test_gradients_of_parameters_continue(void **state)
{
    (void)state;
    enum { ROWS = 6, COLUMNS = 21 };
    float *x = random_floats(1, ROWS * COLUMNS), *gain = random_floats(2, COLUMNS);
    float *dy = random_floats(3, ROWS * COLUMNS), dx[ROWS * COLUMNS], y[ROWS * COLUMNS];
    float mean[ROWS], rstd[ROWS], whole[2][COLUMNS] = {{0}}, parts[2][COLUMNS] = {{0}};
    const struct normalize_kernels *kernels = classes[class_count - 1]->normalize;
    struct layer_norm task = {ROWS, COLUMNS, x, gain, mean, rstd};
    kernels->layer_forward(&task, gain, 1e-5F, y);
    kernels->layer_backward(&task, dy, dx, whole[0], whole[1]);
    for (size_t r = 0; r < ROWS; r += 2) {
        struct layer_norm part = {2, COLUMNS, x + r * COLUMNS, gain, mean + r, rstd + r};
        kernels->layer_backward(&part, dy + r * COLUMNS, dx, parts[0], parts[1]);
    }
    assert_same_bits(parts[0], whole[0], COLUMNS, "parts", "dgain");
    assert_same_bits(parts[1], whole[1], COLUMNS, "parts", "dbias");
    free(x), free(gain), free(dy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_norm_is_accurate_and_portable),
        cmocka_unit_test(test_gradients_of_parameters_continue),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
