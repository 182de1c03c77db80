/*
 * kernels/portable/power.h: x to the power c with the same bits on every processor: by the
 * functions of common/base/real_rules.h, in the subset of C that is also CUDA C++.
 *
 * The results are those of doubles with a relative error below 1e-12 for finite |c| <= 64, rounded
 * to float. Special values are those of C's pow(). Pure.
 */
#ifndef KERNELS_PORTABLE_POWER_H
#define KERNELS_PORTABLE_POWER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/real_rules.h"

enum { POWER_WHOLE_MAX = 64 };

REAL_INLINE double power_infinity(void)
{
    return real_of_bits((uint64_t)0x7ff << 52);
}

/* Above and below these exponents of e, a float is infinite or 0. */
REAL_INLINE double power_exp(double x)
{
    if (x > 90) { return power_infinity(); }
    return x < -105 ? 0 : real_exp_rule(x);
}

/* By multiplications: few roundings, and the sign of x^c. */
REAL_INLINE double power_of_whole(double x, unsigned c)
{
    double result = 1;
    for (; c > 0; c /= 2, x *= x) {
        if (c % 2 == 1) { result *= x; }
    }
    return result;
}

REAL_INLINE bool power_is_whole(double c)
{
    return fabs(c) >= 0x1p52 || c == (double)(int64_t)c;
}

REAL_INLINE bool power_is_odd(double c)
{
    return fabs(c) < 0x1p52 && (int64_t)c % 2 != 0;
}

/* Neither is a NaN, base is not 1, and power is not a small whole number. */
REAL_INLINE double power_of_real(double base, double power)
{
    const double infinity = power_infinity(), size = fabs(base);
    const bool is_whole = power_is_whole(power);
    const double sign = base < 0 && is_whole && power_is_odd(power) ? -1 : 1;
    if (power == 0.5 && base > 0) { return sqrt(base); }
    if (base < 0 && !is_whole && size != infinity) { return real_of_bits((uint64_t)0x7ff8 << 48); }
    if (fabs(power) == infinity) { /* As size grows or falls without end. */
        return size == 1 ? 1 : (size > 1) == (power > 0) ? infinity : 0;
    }
    if (size == 0) { return power > 0 ? 0 : infinity; }
    if (size == infinity) { return sign * (power > 0 ? size : 0); }
    return sign * power_exp(power * real_log_rule(size));
}

REAL_INLINE float power_rule(float x, float c)
{
    const double base = (double)x, power = (double)c;
    if (c == 0.0F || x == 1.0F) { return 1; }
    if (x != x || c != c) { return x + c; }
    if (power_is_whole(power) && fabs(power) <= POWER_WHOLE_MAX) {
        const double result = power_of_whole(base, (unsigned)fabs(power));
        return (float)(power < 0 ? 1 / result : result);
    }
    return (float)power_of_real(base, power);
}

#endif
