#include "graph/portable/power.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/optimizer/real.h"

enum { WHOLE_MAX = 64 };

/* Above and below these exponents of e, a float is infinite or 0. */
static const double GREATEST = 90, LEAST = -105;

static double exp_of(double x)
{
    if (x > GREATEST) { return (double)INFINITY; }
    return x < LEAST ? 0 : real_exp(x);
}

/* By multiplications: few roundings, and the sign of x^c. */
static double whole_power(double x, unsigned c)
{
    double result = 1;
    for (; c > 0; c /= 2, x *= x) {
        if (c % 2 == 1) { result *= x; }
    }
    return result;
}

static bool is_whole(double c)
{
    return fabs(c) >= 0x1p52 || c == (double)(int64_t)c;
}

static bool is_odd(double c)
{
    return fabs(c) < 0x1p52 && (int64_t)c % 2 != 0;
}

float power_of(float x, float c)
{
    double base = (double)x, power = (double)c;
    if (c == 0.0F || x == 1.0F) { return 1; }
    if (x != x || c != c) { return x + c; }
    if (is_whole(power) && fabs(power) <= WHOLE_MAX) {
        double result = whole_power(base, (unsigned)fabs(power));
        return (float)(power < 0 ? 1 / result : result);
    }
    if (c == 0.5F && x > 0) { return (float)sqrt(base); }
    if (x < 0 && !is_whole(power) && !isinf(base)) { return NAN; }
    double size = fabs(base), sign = x < 0 && is_whole(power) && is_odd(power) ? -1 : 1;
    if (isinf(power)) { /* As size grows or falls without end. */
        return size == 1 ? 1 : (size > 1) == (power > 0) ? INFINITY : 0;
    }
    if (size == 0) { return power > 0 ? 0 : INFINITY; }
    if (isinf(size)) { return (float)(sign * (power > 0 ? size : 0)); }
    return (float)(sign * exp_of(power * real_log(size)));
}
