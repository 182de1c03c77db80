/*
 * kernels/portable/isa/math.h: exp, log, tanh, erf and the functions made from them, on each lane
 * of a vector.
 *
 * They are our own, because the bits of libm differ between processors. Special values are those of
 * C17's annex F; subnormal arguments and results are exact to the bounds in elementwise.h, which
 * tests/unit/kernels/portable/test_elementwise.c measures over all exponents.
 */
#ifndef KERNELS_PORTABLE_ISA_MATH_H
#define KERNELS_PORTABLE_ISA_MATH_H

#if defined(PORTABLE_ONE)
#include "kernels/portable/isa/vector_one.h"
#else
#include "kernels/portable/isa/vector.h"
#endif

/* c[0] + c[1] x + ... + c[count - 1] x^(count - 1), by Horner's rule. */
ISA_INLINE wide math_polynomial(wide x, const float *c, size_t count)
{
    wide sum = wide_set(c[count - 1]);
    ISA_UNROLL for (size_t i = count - 1; i > 0; i--)
    {
        sum = wide_fma(sum, x, wide_set(c[i - 1]));
    }
    return sum;
}

/* 2^k for -127 < k < 128. */
ISA_INLINE wide math_power_of_two(ints k)
{
    return wide_of_bits(ints_shift_left(ints_add(k, ints_set(127)), 23));
}

/* x = k ln 2 + r with |r| <= ln 2 / 2; exp(r) is a Taylor series of degree 7, and 2^k is multiplied
 * in two steps, so that only the last product is rounded (Cody, Waite 1980). */
ISA_FUNCTION wide math_exp(wide x)
{
    static const float c[] = {1.0F,         1.0F,          1.0F / 2.0F,   1.0F / 6.0F,
                              1.0F / 24.0F, 1.0F / 120.0F, 1.0F / 720.0F, 1.0F / 5040.0F};
    const wide magic = wide_set(0x1.8p23F); /* Adding it rounds to an integer. */
    wide bounded = wide_lesser(wide_greater(x, wide_set(-104.0F)), wide_set(89.0F));
    wide shifted = wide_fma(bounded, wide_set(0x1.715476p0F), magic);
    wide k = wide_subtract(shifted, magic);
    wide r = wide_fma(k, wide_set(-0x1.62e4p-1F), bounded);
    r = wide_fma(k, wide_set(-0x1.7f7d1cp-20F), r);
    wide e = math_polynomial(r, c, sizeof c / sizeof c[0]);
    ints whole = ints_subtract(ints_of_bits(shifted), ints_of_bits(magic));
    ints half = ints_shift_right_signed(whole, 1);
    e = wide_multiply(e, math_power_of_two(half));
    e = wide_multiply(e, math_power_of_two(ints_subtract(whole, half)));
    return wide_keep_nan(x, e);
}

/* x = 2^k (1 + f) with sqrt(1/2) < 1 + f < sqrt(2); log(1 + f) by s = f / (2 + f) (fdlibm). */
ISA_FUNCTION wide math_log(wide x)
{
    static const float c[] = {0xaaaaaap-24F, 0xccce13p-25F, 0x91e9eep-25F, 0xf89e26p-26F};
    const wide infinity = wide_of_bits(ints_set(0x7f800000));
    lanes is_subnormal = lanes_less(x, wide_set(0x1p-126F));
    wide normal = wide_select(is_subnormal, wide_multiply(x, wide_set(0x1p23F)), x);
    ints bits = ints_subtract(ints_of_bits(normal), ints_set(0x3f3504f3));
    ints k = ints_shift_right_signed(bits, 23);
    k = ints_subtract(k, ints_select(is_subnormal, ints_set(23), ints_set(0)));
    bits = ints_add(ints_and(bits, ints_set(0x7fffff)), ints_set(0x3f3504f3));
    wide f = wide_subtract(wide_of_bits(bits), wide_set(1.0F)), power = wide_of_ints(k);
    wide s = wide_divide(f, wide_add(wide_set(2.0F), f)), z = wide_multiply(s, s);
    wide r = wide_multiply(z, math_polynomial(z, c, sizeof c / sizeof c[0]));
    wide half = wide_multiply(wide_set(0.5F), wide_multiply(f, f));
    wide small = wide_fma(s, wide_add(half, r), wide_multiply(power, wide_set(0x1.2fefa2p-17F)));
    wide y = wide_subtract(f, wide_subtract(half, small));
    y = wide_fma(power, wide_set(0x1.62e3p-1F), y);
    y = wide_select(lanes_equal(x, infinity), x, y);
    y = wide_select(lanes_less(x, wide_zero()), wide_of_bits(ints_set(0x7fc00000)), y);
    y = wide_select(lanes_equal(x, wide_zero()), wide_negative(infinity), y);
    return wide_keep_nan(x, y);
}

/* log(1 + x) for x >= 0: the rounding error of 1 + x is added back. */
ISA_FUNCTION wide math_log_of_one_and(wide x)
{
    wide sum = wide_add(x, wide_set(1.0F));
    wide error = wide_subtract(x, wide_subtract(sum, wide_set(1.0F)));
    wide y = wide_add(math_log(sum), wide_divide(error, sum));
    lanes is_finite = lanes_less(x, wide_of_bits(ints_set(0x7f800000)));
    return wide_select(is_finite, y, x);
}

/* Near 0 an odd polynomial (Cephes), else 1 - 2 / (exp(2 x) + 1). */
ISA_FUNCTION wide math_tanh(wide x)
{
    static const float c[] = {-3.33332819422e-1F, 1.33314422036e-1F, -5.37397155531e-2F,
                              2.06390887954e-2F, -5.70498872745e-3F};
    wide magnitude = wide_magnitude(x), z = wide_multiply(x, x);
    wide polynomial = math_polynomial(z, c, sizeof c / sizeof c[0]);
    wide near = wide_fma(wide_multiply(z, magnitude), polynomial, magnitude);
    wide e = wide_add(math_exp(wide_add(magnitude, magnitude)), wide_set(1.0F));
    wide far = wide_subtract(wide_set(1.0F), wide_divide(wide_set(2.0F), e));
    wide y = wide_select(lanes_less(magnitude, wide_set(0.625F)), near, far);
    return wide_keep_nan(x, wide_with_sign(y, x));
}

/* Near 0 x + x P(x^2), else 1 - exp(x Q(x)); both polynomials fitted by least squares at Chebyshev
 * nodes. */
ISA_FUNCTION wide math_erf(wide x)
{
    static const float p[] = {0x1.06eba6p-3F,  -0x1.8126e6p-2F, 0x1.ce1a66p-4F,
                              -0x1.b68936p-6F, 0x1.47269ap-8F,  -0x1.39a51ep-11F};
    static const float q[] = {-0x1.20eedp+0F,  -0x1.4534c2p-1F, -0x1.b30b3ap-4F, 0x1.8501c8p-6F,
                              -0x1.dc6a86p-9F, 0x1.50d6eep-12F, -0x1.74b536p-17F};
    wide magnitude = wide_lesser(wide_magnitude(x), wide_set(4.0F));
    wide z = wide_multiply(magnitude, magnitude);
    wide near = wide_fma(magnitude, math_polynomial(z, p, sizeof p / sizeof p[0]), magnitude);
    wide r = wide_multiply(magnitude, math_polynomial(magnitude, q, sizeof q / sizeof q[0]));
    wide far = wide_subtract(wide_set(1.0F), math_exp(r));
    wide y = wide_select(lanes_less(magnitude, wide_set(0.9277F)), near, far);
    return wide_keep_nan(x, wide_with_sign(y, x));
}

/* With e = exp(-|x|): 1 / (1 + e), or e / (1 + e) for negative x. */
ISA_FUNCTION wide math_sigmoid(wide x)
{
    wide e = math_exp(wide_negative(wide_magnitude(x)));
    wide above = wide_select(lanes_less(x, wide_zero()), e, wide_set(1.0F));
    return wide_divide(above, wide_add(wide_set(1.0F), e));
}

ISA_INLINE wide math_silu(wide x)
{
    return wide_multiply(x, math_sigmoid(x));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)). */
ISA_FUNCTION wide math_softplus(wide x)
{
    wide small = math_log_of_one_and(math_exp(wide_negative(wide_magnitude(x))));
    return wide_add(wide_relu(x), small);
}

/*
 * The normal distribution: `bell` is exp(-x^2 / 2), and the result is the upper tail 1 - Phi(|x|) =
 * bell * Q(1 / (1 + 0.35 |x|)), Q fitted by least squares at Chebyshev nodes. The rounding error of
 * x^2 is multiplied in, so that the relative error stays small in the tail.
 */
ISA_FUNCTION wide math_normal_tail(wide x, wide *bell)
{
    static const float q[] = {-0x1.2203c6p-21F, 0x1.1df7bep-3F,  0x1.1e3c3ap-3F, 0x1.ecc792p-4F,
                              0x1.aa73e6p-4F,   -0x1.50111ep-6F, 0x1.3fa99ap-3F, -0x1.03874ep-2F,
                              0x1.24ef3cp-3F,   -0x1.dacc28p-6F};
    wide v = wide_lesser(wide_magnitude(x), wide_set(15.0F)), minus_half = wide_set(-0.5F);
    wide square = wide_multiply(v, v), error = wide_fma(v, v, wide_negative(square));
    wide e = math_exp(wide_multiply(minus_half, square));
    *bell = wide_fma(wide_multiply(minus_half, error), e, e);
    wide u = wide_divide(wide_set(1.0F), wide_fma(v, wide_set(0.35F), wide_set(1.0F)));
    return wide_multiply(*bell, math_polynomial(u, q, sizeof q / sizeof q[0]));
}

/* Phi(x), and exp(-x^2 / 2) in `bell`. */
ISA_INLINE wide math_normal(wide x, wide *bell)
{
    wide tail = math_normal_tail(x, bell);
    return wide_select(lanes_less(x, wide_zero()), tail, wide_subtract(wide_set(1.0F), tail));
}

/* x Phi(x). */
ISA_INLINE wide math_gelu(wide x)
{
    wide bell;
    return wide_keep_nan(x, wide_multiply(x, math_normal(x, &bell)));
}

/* Phi(x) + x phi(x). */
ISA_INLINE wide math_gelu_slope(wide x)
{
    wide bell, share = math_normal(x, &bell);
    wide slope = wide_fma(wide_multiply(x, wide_set(0x1.988454p-2F)), bell, share);
    return wide_keep_nan(x, slope);
}

/* The share of x in gelu's tanh form: (1 + tanh(u)) / 2 = sigmoid(2 u), u = sqrt(2 / pi) (x +
 * 0.044715 x^3). */
ISA_INLINE wide math_gelu_tanh_share(wide x)
{
    wide z = wide_multiply(x, x);
    wide slope = wide_fma(z, wide_set(0.0713548163F), wide_set(1.59576912F));
    return math_sigmoid(wide_multiply(x, slope));
}

ISA_INLINE wide math_gelu_tanh(wide x)
{
    return wide_multiply(x, math_gelu_tanh_share(x));
}

ISA_INLINE wide math_gelu_tanh_slope(wide x)
{
    wide share = math_gelu_tanh_share(x), z = wide_multiply(x, x);
    wide slope = wide_fma(z, wide_set(0.214064449F), wide_set(1.59576912F));
    wide rest = wide_multiply(share, wide_subtract(wide_set(1.0F), share));
    return wide_fma(wide_multiply(x, slope), rest, share);
}

#endif
