/*
 * kernels/optimizer/real.h: functions of real numbers with the same bits on every machine, for the
 * constants of a step; libm's differ between versions and processors. They are made of IEEE 754
 * additions, multiplications and divisions of doubles, in a fixed order.
 *
 * Method: reduction of the argument (Cody, Waite 1980), then the Taylor series, cut where the next
 * term is below 2^-56 of the result. Largest relative errors: cos_pi 4e-16 (absolute), exp 4e-16,
 * log 4e-16.
 */
#ifndef KERNELS_OPTIMIZER_REAL_H
#define KERNELS_OPTIMIZER_REAL_H

#include <stdint.h>

/* cos(pi x) for x in [0, 1]; exactly 1, 0 and -1 at 0, 0.5 and 1. */
double real_cos_pi(double x);

/* exp(x) for x in [-700, 700]. */
double real_exp(double x);

/* log(x) for finite, normal x > 0. */
double real_log(double x);

/* base^exponent by squaring. */
double real_power(double base, uint64_t exponent);

#endif
