#include "kernels/optimizer/real.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "common/base/real_rules.h"

static const double PI = 0x1.921fb54442d18p+1;

/* 1 + x (1 + x (...)) with the factors of a Taylor series: the sum of `terms` terms, where term n
 * is term n - 1 times x / divisors[n - 1]. */
static double series(double x, const double *divisors, size_t terms)
{
    double sum = 1;
    for (size_t n = terms; n > 0; n--) { sum = 1 + x / divisors[n - 1] * sum; }
    return sum;
}

/* For |y| <= pi / 4. */
static double small_cos(double y)
{
    static const double divisors[] = {-1 * 2,  -3 * 4,   -5 * 6,   -7 * 8,
                                      -9 * 10, -11 * 12, -13 * 14, -15 * 16};
    return series(y * y, divisors, sizeof divisors / sizeof *divisors);
}

static double small_sin(double y)
{
    static const double divisors[] = {-2 * 3,   -4 * 5,   -6 * 7,   -8 * 9,
                                      -10 * 11, -12 * 13, -14 * 15, -16 * 17};
    return y * series(y * y, divisors, sizeof divisors / sizeof *divisors);
}

double real_cos_pi(double x)
{
    assert(x >= 0 && x <= 1);
    if (x > 0.75) { return -small_cos(PI * (1 - x)); }
    if (x >= 0.25) { return small_sin(PI * (0.5 - x)); }
    return small_cos(PI * x);
}

double real_exp(double x)
{
    assert(x >= -700 && x <= 700);
    return real_exp_rule(x);
}

double real_log(double x)
{
    assert(isnormal(x) && x > 0);
    return real_log_rule(x);
}

double real_power(double base, uint64_t exponent)
{
    double result = 1;
    while (exponent > 0) {
        if (exponent % 2 == 1) { result *= base; }
        base *= base;
        exponent /= 2;
    }
    return result;
}
