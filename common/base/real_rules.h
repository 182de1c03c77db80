/*
 * common/base/real_rules.h: exp and log of kernels/optimizer/real.h as inline functions, in
 * the subset of C that is also CUDA C++, so that kernels of GPUs have them, too.
 *
 * Scaling by a power of two is a multiplication with a number made of its bits: no function of a
 * library takes part.
 */
#ifndef COMMON_BASE_REAL_RULES_H
#define COMMON_BASE_REAL_RULES_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define REAL_INLINE static __device__ __forceinline__
#else
#define REAL_INLINE static inline __attribute__((always_inline, unused))
#endif

/* ln 2 in two parts: the first has zeros at its end, so that its product with a whole number below
 * 2^21 is exact. */
#define REAL_LN2_HIGH 0x1.62e42feep-1
#define REAL_LN2_LOW  0x1.a39ef35793c76p-33

REAL_INLINE double real_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

REAL_INLINE uint64_t bits_of_real(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* exp(x) for x in [-700, 700]: 2^k times a Taylor series, whose sum of 15 terms begins with the
 * last one. */
REAL_INLINE double real_exp_rule(double x)
{
    const int k = (int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5)); /* x / ln 2, rounded. */
    const double rest = (x - k * REAL_LN2_HIGH) - k * REAL_LN2_LOW;
    double sum = 1;
    for (int n = 14; n > 0; n--) { sum = 1 + rest / n * sum; }
    return sum * real_of_bits((uint64_t)(1023 + k) << 52);
}

/* log(x) for finite, normal x > 0: x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh(s), s
 * = (m - 1) / (m + 1). */
REAL_INLINE double real_log_rule(double x)
{
    const uint64_t bits = bits_of_real(x);
    int k = (int)(bits >> 52) - 1022;
    double m = real_of_bits((bits & 0xfffffffffffffU) | (uint64_t)1022 << 52); /* In [1/2, 1). */
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        k--;
    }
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int n = 23; n >= 3; n -= 2) { sum = (sum + 1.0 / n) * square; }
    return k * REAL_LN2_HIGH + (2 * s + (2 * s * sum + k * REAL_LN2_LOW));
}

#endif
