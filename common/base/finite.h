/*
 * common/base/finite.h: whether floats are finite, for rows of tables; kernels/finite.h is for long
 * arrays. Pure.
 */
#ifndef COMMON_BASE_FINITE_H
#define COMMON_BASE_FINITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Whether none of `count` floats is an infinity or a NaN. They need not be aligned.
 *
 * All bits of the exponents are set in infinities and NaNs: the sum of such an exponent and one
 * carries into the sign. Two floats at a time, without branches on them. */
static inline bool floats_are_finite(const void *floats, uint64_t count)
{
    enum { PAIR = 2 * sizeof(float) };
    const uint64_t exponents = UINT64_C(0x7f8000007f800000), ones = UINT64_C(0x0080000000800000);
    const uint8_t *at = floats;
    uint64_t pair = 0, carries = 0, i = 0;
    for (; i + 2 <= count; i += 2) {
        memcpy(&pair, at + i * sizeof(float), PAIR);
        carries |= (pair & exponents) + ones;
    }
    pair = 0;
    if (i < count) { memcpy(&pair, at + i * sizeof(float), sizeof(float)); }
    carries |= (pair & exponents) + ones;
    return (carries & UINT64_C(0x8000000080000000)) == 0;
}

#endif
