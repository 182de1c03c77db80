/* kernels/finite.h: whether numbers are finite. A division by zero or an overflow in training makes
 * an infinity or a NaN, which then spreads to all parameters. Pure. */
#ifndef KERNELS_FINITE_H
#define KERNELS_FINITE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether none of `count` values is an infinity or a NaN. Reads memory at its full speed. */
bool all_finite(const float *values, size_t count);

#endif
