#include "kernels/portable/elementwise.h"

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/math.h"

ISA_INLINE void map(size_t count, const float *x, float *out, wide (*function)(wide))
{
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) { wide_store(out + i, function(wide_load(x + i))); }
    size_t left = count - i;
    if (left > 0) { wide_store_some(out + i, function(wide_load_some(x + i, left)), left); }
}

ISA_INLINE void map_pairs(size_t count, const float *x, const float *y, float *out,
                          wide (*function)(wide, wide))
{
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        wide_store(out + i, function(wide_load(x + i), wide_load(y + i)));
    }
    size_t left = count - i;
    if (left > 0) {
        wide result = function(wide_load_some(x + i, left), wide_load_some(y + i, left));
        wide_store_some(out + i, result, left);
    }
}

/* With one element for all on one side. */
ISA_INLINE void map_broadcast(size_t count, const float *a, size_t a_step, const float *b,
                              size_t b_step, float *out, wide (*function)(wide, wide))
{
    wide left = wide_set(a[0]), right = wide_set(b[0]);
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        if (a_step != 0) { left = wide_load_up_to(a + i, size); }
        if (b_step != 0) { right = wide_load_up_to(b + i, size); }
        wide_store_up_to(out + i, function(left, right), size);
    }
}

#define BINARY(name, function)                                                                     \
    static void name(size_t count, const float *a, size_t a_step, const float *b, size_t b_step,   \
                     float *out)                                                                   \
    {                                                                                              \
        if (a_step != 0 && b_step != 0) {                                                          \
            map_pairs(count, a, b, out, function);                                                 \
        } else if (count > 0) {                                                                    \
            map_broadcast(count, a, a_step, b, b_step, out, function);                             \
        }                                                                                          \
    }
#define UNARY(name, function)                                                                      \
    static void name(size_t count, const float *x, float *out)                                     \
    {                                                                                              \
        map(count, x, out, function);                                                              \
    }
#define GRADIENT(name, function)                                                                   \
    static void name##_gradient(size_t count, const float *from, const float *dy, float *dx)       \
    {                                                                                              \
        map_pairs(count, from, dy, dx, function);                                                  \
    }

BINARY(add, wide_add)
BINARY(subtract, wide_subtract)
BINARY(multiply, wide_multiply)
BINARY(divide, wide_divide)
BINARY(lesser, wide_lesser)
BINARY(greater, wide_greater)

ISA_INLINE wide wide_square(wide x)
{
    return wide_multiply(x, x);
}

ISA_INLINE wide wide_reciprocal(wide x)
{
    return wide_divide(wide_set(1.0F), x);
}

UNARY(negative, wide_negative)
UNARY(magnitude, wide_magnitude)
UNARY(square, wide_square)
UNARY(square_root, wide_sqrt)
UNARY(reciprocal, wide_reciprocal)
UNARY(exponential, math_exp)
UNARY(logarithm, math_log)
UNARY(hyperbolic, math_tanh)
UNARY(error_function, math_erf)
UNARY(sigmoid, math_sigmoid)
UNARY(softplus, math_softplus)
UNARY(relu, wide_relu)
UNARY(silu, math_silu)
UNARY(gelu, math_gelu)
UNARY(gelu_tanh, math_gelu_tanh)

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

GRADIENT(square_root, square_root_rule)
GRADIENT(exponential, wide_multiply)
GRADIENT(logarithm, logarithm_rule)
GRADIENT(hyperbolic, hyperbolic_rule)
GRADIENT(error_function, error_function_rule)
GRADIENT(sigmoid, sigmoid_rule)
GRADIENT(softplus, softplus_rule)
GRADIENT(relu, relu_rule)
GRADIENT(silu, silu_rule)
GRADIENT(gelu, gelu_rule)
GRADIENT(gelu_tanh, gelu_tanh_rule)

/* `x` where it is not negative, else slope * y. */
ISA_INLINE wide leak(wide slope, wide x, wide y)
{
    return wide_select(lanes_less(x, wide_zero()), wide_multiply(slope, y), y);
}

static void leaky_relu_gradient(size_t count, float slope, const float *x, const float *dy,
                                float *dx)
{
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        wide_store_up_to(
            dx + i,
            leak(wide_set(slope), wide_load_up_to(x + i, size), wide_load_up_to(dy + i, size)),
            size);
    }
}

static void leaky_relu(size_t count, float slope, const float *x, float *out)
{
    leaky_relu_gradient(count, slope, x, x, out);
}

static void scale(size_t count, float factor, const float *x, float *out)
{
    multiply(count, x, 1, &factor, 0, out);
}

static void axpy(size_t count, float factor, const float *x, const float *y, float *out)
{
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        wide_store_up_to(
            out + i,
            wide_fma(wide_set(factor), wide_load_up_to(x + i, size), wide_load_up_to(y + i, size)),
            size);
    }
}

static void clip(size_t count, float low, float high, const float *x, float *out)
{
    const wide lowest = wide_set(low), highest = wide_set(high);
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        wide at = wide_load_up_to(x + i, size), y = wide_lesser(highest, wide_greater(lowest, at));
        wide_store_up_to(out + i, y, size);
    }
}

const struct elementwise_kernels ISA(elementwise_kernels) = {
    .binary =
        {
            [ELEMENTWISE_ADD] = add,
            [ELEMENTWISE_SUBTRACT] = subtract,
            [ELEMENTWISE_MULTIPLY] = multiply,
            [ELEMENTWISE_DIVIDE] = divide,
            [ELEMENTWISE_LESSER] = lesser,
            [ELEMENTWISE_GREATER] = greater,
        },
    .unary =
        {
            [ELEMENTWISE_NEGATIVE] = negative,
            [ELEMENTWISE_MAGNITUDE] = magnitude,
            [ELEMENTWISE_SQUARE] = square,
            [ELEMENTWISE_SQRT] = square_root,
            [ELEMENTWISE_RECIPROCAL] = reciprocal,
            [ELEMENTWISE_EXP] = exponential,
            [ELEMENTWISE_LOG] = logarithm,
            [ELEMENTWISE_TANH] = hyperbolic,
            [ELEMENTWISE_ERF] = error_function,
            [ELEMENTWISE_SIGMOID] = sigmoid,
            [ELEMENTWISE_SOFTPLUS] = softplus,
            [ELEMENTWISE_RELU] = relu,
            [ELEMENTWISE_SILU] = silu,
            [ELEMENTWISE_GELU] = gelu,
            [ELEMENTWISE_GELU_TANH] = gelu_tanh,
        },
    .gradient =
        {
            [ELEMENTWISE_SQRT] = square_root_gradient,
            [ELEMENTWISE_EXP] = exponential_gradient,
            [ELEMENTWISE_LOG] = logarithm_gradient,
            [ELEMENTWISE_TANH] = hyperbolic_gradient,
            [ELEMENTWISE_ERF] = error_function_gradient,
            [ELEMENTWISE_SIGMOID] = sigmoid_gradient,
            [ELEMENTWISE_SOFTPLUS] = softplus_gradient,
            [ELEMENTWISE_RELU] = relu_gradient,
            [ELEMENTWISE_SILU] = silu_gradient,
            [ELEMENTWISE_GELU] = gelu_gradient,
            [ELEMENTWISE_GELU_TANH] = gelu_tanh_gradient,
        },
    .leaky_relu = leaky_relu,
    .leaky_relu_gradient = leaky_relu_gradient,
    .scale = scale,
    .axpy = axpy,
    .clip = clip,
};
