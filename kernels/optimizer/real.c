#include "kernels/optimizer/real.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* Pi, and ln 2 in two parts: the first has zeros at its end, so that its product with a whole
 * number below 2^21 is exact. */
static const double PI = 0x1.921fb54442d18p+1;
static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;

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
    static const double divisors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    assert(x >= -700 && x <= 700);
    int k = (int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5)); /* x / ln 2, rounded. */
    double rest = (x - k * LN2_HIGH) - k * LN2_LOW;
    return ldexp(series(rest, divisors, sizeof divisors / sizeof *divisors), k);
}

/* x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh(s), s = (m - 1) / (m + 1). */
double real_log(double x)
{
    assert(isnormal(x) && x > 0);
    int k;
    double m = frexp(x, &k);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        k--;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int n = 23; n >= 3; n -= 2) { sum = (sum + 1.0 / n) * square; }
    return k * LN2_HIGH + (2 * s + (2 * s * sum + k * LN2_LOW));
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
