#include "kernels/finite.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 256 };
#define EXPONENT UINT32_C(0x7f800000) /* All its bits are set in infinities and NaNs. */

/* Without branches, and word by word, so that the compiler makes vector instructions of it that
 * read the values in place. */
static uint32_t block_is_bad(const float *values)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        uint32_t word;
        memcpy(&word, values + i, sizeof word);
        bad |= (word & EXPONENT) + (1U << 23);
    }
    return bad >> 31; /* The sum carries into the sign only if all bits were set. */
}

bool all_finite(const float *values, size_t count)
{
    assert(values != NULL || count == 0);
    float rest[BLOCK] = {0};
    uint32_t bad = 0;
    size_t at = 0;
    for (; at + BLOCK <= count; at += BLOCK) { bad |= block_is_bad(values + at); }
    if (at < count) { memcpy(rest, values + at, (count - at) * sizeof rest[0]); }
    return (bad | block_is_bad(rest)) == 0;
}
