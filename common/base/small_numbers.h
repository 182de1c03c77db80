/*
 * common/base/small_numbers.h: the numbers that count as 0 in an update (rule A19).
 *
 * An operation on a number below the smallest normal one, 2^-126, takes 100 times as long as others
 * on most processors. Updates meet such numbers all the time: gradients of inputs that are almost
 * always 0, their squares, and state that decays while its gradients are 0. Above these bounds
 * no product in an update leaves the normal numbers: the square of a gradient is at least 2^-100,
 * and state at least 2^-110, so that 2^16 remains for factors such as 1 - beta and the rate.
 * Modes of processors that flush such numbers (FTZ, FZ) differ between architectures in when a
 * result is too small; a comparison does not.
 */
#ifndef COMMON_BASE_SMALL_NUMBERS_H
#define COMMON_BASE_SMALL_NUMBERS_H

#define SMALLEST_GRADIENT 0x1p-50F
#define SMALLEST_STATE    0x1p-110F

/* `x`, or 0 if |x| is below `smallest`. A NaN stays a NaN. `x` is evaluated twice. */
#define ZERO_IF_BELOW(smallest, x) (fabsf(x) < (smallest) ? 0.0F : (x))

#endif
