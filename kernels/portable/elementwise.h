/*
 * kernels/portable/elementwise.h: functions of one or two floats, element by element.
 *
 * The arithmetic is IEEE 754's, each operation rounded once. Largest errors of the other functions,
 * in units in the last place (ulp) of the result, over all exponents including subnormal numbers:
 *
 *   exp 1.0   log 1.0   tanh 1.5   erf 1.5   sigmoid 2.5   silu 3   softplus 2.5   gelu 6
 *
 * Below 2^-118, silu and gelu have the absolute error of that result. gelu_tanh is x sigmoid(2 u),
 * whose argument is rounded: its error is below 4 + 4 |u| ulp. Special values: functions map NaN to
 * NaN, exp(-inf) = 0, log(0) = -inf, log(x < 0) = NaN, and the odd functions keep the sign of -0.
 * gelu and silu of -inf are NaN.
 *
 * `out` may be one of the inputs; otherwise arrays do not overlap.
 */
#ifndef KERNELS_PORTABLE_ELEMENTWISE_H
#define KERNELS_PORTABLE_ELEMENTWISE_H

#include <stddef.h>

enum elementwise_binary {
    ELEMENTWISE_ADD,
    ELEMENTWISE_SUBTRACT,
    ELEMENTWISE_MULTIPLY,
    ELEMENTWISE_DIVIDE,
    ELEMENTWISE_LESSER,  /* a < b ? a : b */
    ELEMENTWISE_GREATER, /* a > b ? a : b */
    ELEMENTWISE_BINARIES,
};

enum elementwise_unary {
    ELEMENTWISE_NEGATIVE,
    ELEMENTWISE_MAGNITUDE,
    ELEMENTWISE_SQUARE,
    ELEMENTWISE_SQRT,
    ELEMENTWISE_RECIPROCAL,
    ELEMENTWISE_EXP,
    ELEMENTWISE_LOG,
    ELEMENTWISE_TANH,
    ELEMENTWISE_ERF,
    ELEMENTWISE_SIGMOID,
    ELEMENTWISE_SOFTPLUS, /* log(1 + exp(x)) */
    ELEMENTWISE_RELU,     /* max(x, 0); NaN and -0 stay. */
    ELEMENTWISE_SILU,     /* x sigmoid(x) */
    ELEMENTWISE_GELU,     /* x Phi(x), Phi the normal distribution. */
    ELEMENTWISE_GELU_TANH,
    ELEMENTWISE_UNARIES,
};

/* Step 0: one element is used for all. Step 1: an array. */
typedef void elementwise_binary_function(size_t count, const float *a, size_t a_step,
                                         const float *b, size_t b_step, float *out);
typedef void elementwise_unary_function(size_t count, const float *x, float *out);
/* dx = dy f'(x), from x or from y = f(x). */
typedef void elementwise_gradient_function(size_t count, const float *x_or_y, const float *dy,
                                           float *dx);

struct elementwise_kernels {
    elementwise_binary_function *binary[ELEMENTWISE_BINARIES];
    elementwise_unary_function *unary[ELEMENTWISE_UNARIES];
    /* NULL: the gradient is made of other kernels. elementwise_gradient_reads_result() gives the
     * array that each one reads. */
    elementwise_gradient_function *gradient[ELEMENTWISE_UNARIES];
    /* out = x < 0 ? slope * x : x; and dx = x < 0 ? slope * dy : dy. */
    void (*leaky_relu)(size_t count, float slope, const float *x, float *out);
    void (*leaky_relu_gradient)(size_t count, float slope, const float *x, const float *dy,
                                float *dx);
    /* out = factor * x. */
    void (*scale)(size_t count, float factor, const float *x, float *out);
    /* out = fma(factor, x, y), rounded once. */
    void (*axpy)(size_t count, float factor, const float *x, const float *y, float *out);
    /* out = min(max(x, low), high); NaN stays. */
    void (*clip)(size_t count, float low, float high, const float *x, float *out);
};

/* Does the gradient of `unary` read y = f(x)? Otherwise it reads x. */
static inline int elementwise_gradient_reads_result(enum elementwise_unary unary)
{
    return unary == ELEMENTWISE_SQRT || unary == ELEMENTWISE_EXP || unary == ELEMENTWISE_TANH ||
           unary == ELEMENTWISE_SIGMOID || unary == ELEMENTWISE_RELU;
}

#endif
