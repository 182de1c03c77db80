/* Elementwise functions: accuracy over all exponents, special values, equal bits in every class. */
#include "kernels/portable/elementwise.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "tests/unit/kernels/portable/classes.h"

enum { MANTISSAS = 400, VALUES = 2 * 256 * MANTISSAS, WIDE_TAILS = 17 };

static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus_of(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double silu_of(double x)
{
    return x * sigmoid_of(x);
}

static double gelu_of(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}

static double gelu_tanh_of(double x)
{
    return x * sigmoid_of(2 * sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x));
}

static double negative_of(double x)
{
    return -x;
}

static double square_of(double x)
{
    return x * x;
}

static double reciprocal_of(double x)
{
    return 1 / x;
}

static double relu_of(double x)
{
    return isnan(x) ? x : fmax(x, 0);
}

/* Function, its reference in double, and the bound in ulp; 0.5 means correctly rounded, 0
 * the formula of gelu_tanh. */
static const struct {
    const char *name;
    enum elementwise_unary unary;
    double (*reference)(double x);
    double bound;
    int floor; /* Results below 2^floor have the absolute error of 2^floor. */
} functions[] = {
    {"negative", ELEMENTWISE_NEGATIVE, negative_of, 0.5, -126},
    {"magnitude", ELEMENTWISE_MAGNITUDE, fabs, 0.5, -126},
    {"square", ELEMENTWISE_SQUARE, square_of, 0.5, -126},
    {"sqrt", ELEMENTWISE_SQRT, sqrt, 0.5, -126},
    {"reciprocal", ELEMENTWISE_RECIPROCAL, reciprocal_of, 0.5, -126},
    {"relu", ELEMENTWISE_RELU, relu_of, 0.5, -126},
    {"exp", ELEMENTWISE_EXP, exp, 1.0, -126},
    {"log", ELEMENTWISE_LOG, log, 1.0, -126},
    {"tanh", ELEMENTWISE_TANH, tanh, 1.5, -126},
    {"erf", ELEMENTWISE_ERF, erf, 1.5, -126},
    {"sigmoid", ELEMENTWISE_SIGMOID, sigmoid_of, 2.5, -126},
    {"softplus", ELEMENTWISE_SOFTPLUS, softplus_of, 2.5, -126},
    {"silu", ELEMENTWISE_SILU, silu_of, 3.0, -118},
    {"gelu", ELEMENTWISE_GELU, gelu_of, 6.0, -118},
    {"gelu_tanh", ELEMENTWISE_GELU_TANH, gelu_tanh_of, 0, -118},
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Both signs, every exponent, random mantissas and the two at the ends: subnormal numbers, zeros,
 * infinities and NaNs included. */
static float *values_of_all_exponents(void)
{
    float *values = allocate_floats(VALUES);
    struct random random = {.state = 30};
    for (size_t i = 0; i < VALUES; i++) {
        uint32_t mantissa = (uint32_t)random_next(&random) & 0x7fffff;
        if (i % MANTISSAS == 0) { mantissa = 0; }
        if (i % MANTISSAS == 1) { mantissa = 0x7fffff; }
        values[i] = float_of((uint32_t)(i / MANTISSAS) << 23 | mantissa);
    }
    return values;
}

/* |found - exact| in units in the last place of `exact`; a result that overflows must be
 * infinite. */
static double error_in_ulp(float found, double exact, int floor)
{
    if (isnan(exact)) { return isnan(found) ? 0 : INFINITY; }
    if (isinf(found) || fabs(exact) > (double)FLT_MAX) {
        bool is_over = fabs(exact) > (double)FLT_MAX * (1 - 0x1p-22);
        return is_over && (double)found * exact > 0 && fabsf(found) >= FLT_MAX ? 0 : INFINITY;
    }
    int exponent;
    (void)frexp(exact, &exponent);
    return fabs((double)found - exact) / ldexp(1, (int)double_max(exponent, floor + 1) - 24);
}

/* The largest error over all exponents is below the bound that elementwise.h states. */
static void test_errors_are_below_the_stated_bounds(void **state)
{
    (void)state;
    float *x = values_of_all_exponents(), *out = allocate_floats(VALUES);
    for (size_t f = 0; f < FUNCTIONS; f++) {
        double worst = 0, worst_at = 0;
        classes[class_count - 1]->elementwise->unary[functions[f].unary](VALUES, x, out);
        for (size_t i = 0; i < VALUES; i++) {
            double at = (double)x[i],
                   error = error_in_ulp(out[i], functions[f].reference(at), functions[f].floor);
            if (functions[f].bound == 0) {
                error -= 4 + 4 * fabs(1.6 * at * (1 + 0.045 * at * at));
            }
            if (isinf(x[i]) && functions[f].reference(at) != functions[f].reference(at)) {
                error = 0;
            }
            if (error > worst) {
                worst = error;
                worst_at = at;
            }
        }
        printf("%-10s %6.3f ulp at %.9g\n", functions[f].name, worst, worst_at);
        if (!(worst <= functions[f].bound)) { fail_msg("%s: %f ulp", functions[f].name, worst); }
    }
    free(x), free(out);
}

/* Infinities, zeros and NaN map as in C17's annex F. */
static void test_special_values(void **state)
{
    (void)state;
    static const struct {
        enum elementwise_unary unary;
        float x, y;
    } rows[] = {
        {ELEMENTWISE_EXP, -INFINITY, 0.0F},      {ELEMENTWISE_EXP, INFINITY, INFINITY},
        {ELEMENTWISE_EXP, -0.0F, 1.0F},          {ELEMENTWISE_LOG, 0.0F, -INFINITY},
        {ELEMENTWISE_LOG, -0.0F, -INFINITY},     {ELEMENTWISE_LOG, -1.0F, NAN},
        {ELEMENTWISE_LOG, -INFINITY, NAN},       {ELEMENTWISE_LOG, INFINITY, INFINITY},
        {ELEMENTWISE_LOG, 1.0F, 0.0F},           {ELEMENTWISE_TANH, -0.0F, -0.0F},
        {ELEMENTWISE_TANH, INFINITY, 1.0F},      {ELEMENTWISE_TANH, -INFINITY, -1.0F},
        {ELEMENTWISE_ERF, -0.0F, -0.0F},         {ELEMENTWISE_ERF, -INFINITY, -1.0F},
        {ELEMENTWISE_SIGMOID, -INFINITY, 0.0F},  {ELEMENTWISE_SIGMOID, INFINITY, 1.0F},
        {ELEMENTWISE_SOFTPLUS, -INFINITY, 0.0F}, {ELEMENTWISE_SOFTPLUS, INFINITY, INFINITY},
        {ELEMENTWISE_RELU, -0.0F, -0.0F},        {ELEMENTWISE_RELU, -INFINITY, 0.0F},
        {ELEMENTWISE_GELU, -0.0F, -0.0F},        {ELEMENTWISE_GELU, INFINITY, INFINITY},
        {ELEMENTWISE_SILU, -0.0F, -0.0F},        {ELEMENTWISE_GELU_TANH, INFINITY, INFINITY},
    };
    for (size_t c = 0; c < class_count; c++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            float y;
            classes[c]->elementwise->unary[rows[i].unary](1, &rows[i].x, &y);
            assert_same_bits(&y, &rows[i].y, 1, classes[c]->name, "a special value");
        }
        for (size_t u = 0; u < ELEMENTWISE_UNARIES; u++) {
            float x = NAN, y = 0;
            classes[c]->elementwise->unary[u](1, &x, &y);
            assert_true(isnan(y));
        }
    }
}

/* Every function and every gradient, all exponents and every length of a tail: the bits of plain
 * C. */
static void test_every_class_has_the_same_bits(void **state)
{
    (void)state;
    float *x = values_of_all_exponents(), *dy = random_floats(1, VALUES);
    float *expected = allocate_floats(VALUES), *out = allocate_floats(VALUES);
    for (size_t u = 0; u < 2 * ELEMENTWISE_UNARIES; u++) {
        bool is_gradient = u >= ELEMENTWISE_UNARIES;
        size_t row = u % ELEMENTWISE_UNARIES;
        if (is_gradient && classes[0]->elementwise->gradient[row] == NULL) { continue; }
        for (size_t c = 0; c < class_count; c++) {
            const struct elementwise_kernels *kernels = classes[c]->elementwise;
            for (size_t tail = 0; tail < WIDE_TAILS; tail++) {
                size_t count = tail == 0 ? VALUES : tail, from = tail * 811;
                memset(out, 0, VALUES * sizeof *out);
                if (is_gradient) {
                    kernels->gradient[row](count, x + from * (tail != 0), dy, out);
                } else {
                    kernels->unary[row](count, x + from * (tail != 0), out);
                }
                if (c == 0 && tail == 0) { memcpy(expected, out, VALUES * sizeof *out); }
                if (tail == 0) {
                    assert_same_bits(out, expected, VALUES, classes[c]->name, "a function");
                    continue;
                }
                assert_same_bits(out, is_gradient ? out : expected + from, count, classes[c]->name,
                                 "a tail");
                assert_same_bits(out + count, (float[]){0}, 1, classes[c]->name, "behind a tail");
            }
        }
    }
    free(x), free(dy), free(expected), free(out);
}

static float binary_in_c(enum elementwise_binary binary, float a, float b)
{
    switch (binary) {
    case ELEMENTWISE_ADD: return a + b;
    case ELEMENTWISE_SUBTRACT: return a - b;
    case ELEMENTWISE_MULTIPLY: return a * b;
    case ELEMENTWISE_DIVIDE: return a / b;
    case ELEMENTWISE_LESSER:
        if (a < b) { return a; }
        return b;
    case ELEMENTWISE_GREATER:
        if (a > b) { return a; }
        return b;
    case ELEMENTWISE_BINARIES: break;
    }
    return 0;
}

/* Operations on pairs, with arrays or single elements on either side, in place and not. */
static void test_binary_operations_equal_plain_c(void **state)
{
    (void)state;
    enum { COUNT = 2 * 16 + 5 };
    float *a = random_floats(1, COUNT), *b = random_floats(2, COUNT);
    a[3] = NAN, b[4] = NAN, a[5] = -0.0F, b[5] = 0.0F, a[6] = INFINITY, b[6] = INFINITY;
    for (size_t c = 0; c < class_count; c++) {
        for (size_t op = 0; op < ELEMENTWISE_BINARIES; op++) {
            for (size_t steps = 0; steps < 4; steps++) {
                size_t a_step = steps & 1, b_step = steps >> 1;
                float expected[COUNT], out[COUNT];
                for (size_t i = 0; i < COUNT; i++) {
                    expected[i] =
                        binary_in_c((enum elementwise_binary)op, a[i * a_step], b[i * b_step]);
                }
                classes[c]->elementwise->binary[op](COUNT, a, a_step, b, b_step, out);
                assert_same_bits(out, expected, COUNT, classes[c]->name, "a binary operation");
                if (a_step == 0) { continue; }
                memcpy(out, a, sizeof out);
                classes[c]->elementwise->binary[op](COUNT, out, 1, b, b_step, out);
                assert_same_bits(out, expected, COUNT, classes[c]->name, "in place");
            }
        }
    }
    free(a), free(b);
}

/* Scale, axpy, leaky relu and clip equal plain C; axpy rounds once. */
static void test_functions_with_a_parameter_equal_plain_c(void **state)
{
    (void)state;
    enum { COUNT = 16 + 7 };
    float *x = random_floats(1, COUNT), *y = random_floats(2, COUNT), out[COUNT];
    x[2] = NAN, x[3] = -0.0F, x[4] = INFINITY;
    for (size_t c = 0; c < class_count; c++) {
        const struct elementwise_kernels *kernels = classes[c]->elementwise;
        float scaled[COUNT], axpy[COUNT], leaky[COUNT], leaky_gradient[COUNT], clipped[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            scaled[i] = 0.3F * x[i];
            axpy[i] = fmaf(0.3F, x[i], y[i]);
            leaky[i] = x[i] < 0 ? 0.1F * x[i] : x[i];
            leaky_gradient[i] = x[i] < 0 ? 0.1F * y[i] : y[i];
            clipped[i] = isnan(x[i]) ? x[i] : fminf(fmaxf(x[i], -0.5F), 0.25F);
        }
        kernels->scale(COUNT, 0.3F, x, out);
        assert_same_bits(out, scaled, COUNT, classes[c]->name, "scale");
        kernels->axpy(COUNT, 0.3F, x, y, out);
        assert_same_bits(out, axpy, COUNT, classes[c]->name, "axpy");
        kernels->leaky_relu(COUNT, 0.1F, x, out);
        assert_same_bits(out, leaky, COUNT, classes[c]->name, "leaky relu");
        kernels->leaky_relu_gradient(COUNT, 0.1F, x, y, out);
        assert_same_bits(out, leaky_gradient, COUNT, classes[c]->name, "leaky relu's gradient");
        kernels->clip(COUNT, -0.5F, 0.25F, x, out);
        assert_same_bits(out, clipped, COUNT, classes[c]->name, "clip");
    }
    free(x), free(y);
}

/* Gradients agree with central differences of the reference in double. */
static void test_gradients_agree_with_differences(void **state)
{
    (void)state;
    const struct elementwise_kernels *kernels = classes[class_count - 1]->elementwise;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        enum elementwise_unary unary = functions[f].unary;
        if (kernels->gradient[unary] == NULL) { continue; }
        for (float x = 0.03F; x < 6.0F; x += 0.0371F) {
            for (int sign = 1; sign >= -1; sign -= 2) {
                float at = (float)sign * x, y, dx, dy = 1.5F;
                if (sign < 0 && (unary == ELEMENTWISE_SQRT || unary == ELEMENTWISE_LOG)) {
                    continue;
                }
                kernels->unary[unary](1, &at, &y);
                const float *read = elementwise_gradient_reads_result(unary) ? &y : &at;
                kernels->gradient[unary](1, read, &dy, &dx);
                double h = 1e-5, up = functions[f].reference((double)at + h);
                double slope = (up - functions[f].reference((double)at - h)) / (2 * h);
                if (!(fabs((double)dx - 1.5 * slope) <= 3e-6 * (1 + fabs(slope)))) {
                    fail_msg("%s at %g: %g, not %g", functions[f].name, (double)at, (double)dx,
                             1.5 * slope);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_are_below_the_stated_bounds),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_every_class_has_the_same_bits),
        cmocka_unit_test(test_binary_operations_equal_plain_c),
        cmocka_unit_test(test_functions_with_a_parameter_equal_plain_c),
        cmocka_unit_test(test_gradients_agree_with_differences),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
