/*
 * kernels/portable/isa/rules.h: the functions of kernels/portable/elementwise.h on one `wide`, and
 * lists of them: X(NAME, name, function), where NAME is that of ELEMENTWISE_NAME. Loops over arrays
 * (elementwise.c) and kernels of GPUs are made from these lists.
 */
#ifndef KERNELS_PORTABLE_ISA_RULES_H
#define KERNELS_PORTABLE_ISA_RULES_H

#include "kernels/portable/isa/math.h"

ISA_INLINE wide wide_square(wide x)
{
    return wide_multiply(x, x);
}

ISA_INLINE wide wide_reciprocal(wide x)
{
    return wide_divide(wide_set(1.0F), x);
}

/* dy / (2 y) */
ISA_INLINE wide square_root_rule(wide y, wide dy)
{
    return wide_divide(dy, wide_add(y, y));
}

/* dy (1 - y^2) */
ISA_INLINE wide hyperbolic_rule(wide y, wide dy)
{
    return wide_multiply(dy, wide_fma(wide_negative(y), y, wide_set(1.0F)));
}

/* dy y (1 - y) */
ISA_INLINE wide sigmoid_rule(wide y, wide dy)
{
    return wide_multiply(dy, wide_multiply(y, wide_subtract(wide_set(1.0F), y)));
}

/* dy where y is not 0. */
ISA_INLINE wide relu_rule(wide y, wide dy)
{
    return wide_select(lanes_equal(y, wide_zero()), wide_zero(), dy);
}

ISA_INLINE wide logarithm_rule(wide x, wide dy)
{
    return wide_divide(dy, x);
}

ISA_INLINE wide softplus_rule(wide x, wide dy)
{
    return wide_multiply(dy, math_sigmoid(x));
}

/* dy 2 / sqrt(pi) exp(-x^2) */
ISA_INLINE wide error_function_rule(wide x, wide dy)
{
    wide e = math_exp(wide_negative(wide_multiply(x, x)));
    return wide_multiply(dy, wide_multiply(wide_set(0x1.20dd76p0F), e));
}

/* With s = sigmoid(x): dy (s + x s (1 - s)) */
ISA_INLINE wide silu_rule(wide x, wide dy)
{
    wide s = math_sigmoid(x), rest = wide_multiply(s, wide_subtract(wide_set(1.0F), s));
    return wide_multiply(dy, wide_fma(x, rest, s));
}

ISA_INLINE wide gelu_rule(wide x, wide dy)
{
    return wide_multiply(dy, math_gelu_slope(x));
}

ISA_INLINE wide gelu_tanh_rule(wide x, wide dy)
{
    return wide_multiply(dy, math_gelu_tanh_slope(x));
}

/* `x` where it is not negative, else slope * y. */
ISA_INLINE wide leak(wide slope, wide x, wide y)
{
    return wide_select(lanes_less(x, wide_zero()), wide_multiply(slope, y), y);
}

/* min(max(x, low), high); a NaN stays. */
ISA_INLINE wide clipped(wide low, wide high, wide x)
{
    return wide_lesser(high, wide_greater(low, x));
}

#define RULES_BINARY(X)                                                                            \
    X(ADD, add, wide_add)                                                                          \
    X(SUBTRACT, subtract, wide_subtract)                                                           \
    X(MULTIPLY, multiply, wide_multiply)                                                           \
    X(DIVIDE, divide, wide_divide)                                                                 \
    X(LESSER, lesser, wide_lesser)                                                                 \
    X(GREATER, greater, wide_greater)

#define RULES_UNARY(X)                                                                             \
    X(NEGATIVE, negative, wide_negative)                                                           \
    X(MAGNITUDE, magnitude, wide_magnitude)                                                        \
    X(SQUARE, square, wide_square)                                                                 \
    X(SQRT, square_root, wide_sqrt)                                                                \
    X(RECIPROCAL, reciprocal, wide_reciprocal)                                                     \
    X(EXP, exponential, math_exp)                                                                  \
    X(LOG, logarithm, math_log)                                                                    \
    X(TANH, hyperbolic, math_tanh)                                                                 \
    X(ERF, error_function, math_erf)                                                               \
    X(SIGMOID, sigmoid, math_sigmoid)                                                              \
    X(SOFTPLUS, softplus, math_softplus)                                                           \
    X(RELU, relu, wide_relu)                                                                       \
    X(SILU, silu, math_silu)                                                                       \
    X(GELU, gelu, math_gelu)                                                                       \
    X(GELU_TANH, gelu_tanh, math_gelu_tanh)

/* Gradients, of dy and the array that elementwise_gradient_reads_result() names. */
#define RULES_GRADIENT(X)                                                                          \
    X(SQRT, square_root, square_root_rule)                                                         \
    X(EXP, exponential, wide_multiply)                                                             \
    X(LOG, logarithm, logarithm_rule)                                                              \
    X(TANH, hyperbolic, hyperbolic_rule)                                                           \
    X(ERF, error_function, error_function_rule)                                                    \
    X(SIGMOID, sigmoid, sigmoid_rule)                                                              \
    X(SOFTPLUS, softplus, softplus_rule)                                                           \
    X(RELU, relu, relu_rule)                                                                       \
    X(SILU, silu, silu_rule)                                                                       \
    X(GELU, gelu, gelu_rule)                                                                       \
    X(GELU_TANH, gelu_tanh, gelu_tanh_rule)

#endif
