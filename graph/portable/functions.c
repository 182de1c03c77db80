/* graph/portable/functions.c: functions of numbers for the kernels of users. */
#include <math.h>

#include "kernels/optimizer/real.h"
#include "tanist/operation.h"

static const double EXPONENT_MAX = 700;

double tn_exact_exp(double x)
{
    if (isnan(x)) { return x; }
    if (x > EXPONENT_MAX) { return (double)INFINITY; }
    return x < -EXPONENT_MAX ? 0 : real_exp(x);
}

double tn_exact_log(double x)
{
    if (isnan(x) || x < 0) { return (double)NAN; }
    if (isinf(x)) { return x; }
    return isnormal(x) ? real_log(x) : (double)-INFINITY;
}
