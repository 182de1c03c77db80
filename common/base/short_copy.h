/*
 * common/base/short_copy.h: memcpy() for sizes that are known at run time only and are usually
 * small, such as rows of tables, most of which have one to 16 numbers: these are copied without a
 * call. Pure.
 */
#ifndef COMMON_BASE_SHORT_COPY_H
#define COMMON_BASE_SHORT_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The arrays do not overlap. */
static inline void short_copy(void *restrict to, const void *restrict from, size_t size)
{
    enum { NUMBER = sizeof(float), HALF = 4 * NUMBER, LARGE_HALF = 2 * HALF };
    if (size == NUMBER) {
        memcpy(to, from, NUMBER);
    } else if (size >= HALF && size <= 2 * HALF) { /* Both halves, which overlap below 8 numbers. */
        memcpy(to, from, HALF);
        memcpy((uint8_t *)to + size - HALF, (const uint8_t *)from + size - HALF, HALF);
    } else if (size > 2 * HALF && size <= 2 * LARGE_HALF) { /* Up to 16 floats. */
        memcpy(to, from, LARGE_HALF);
        memcpy((uint8_t *)to + size - LARGE_HALF, (const uint8_t *)from + size - LARGE_HALF,
               LARGE_HALF);
    } else {
        memcpy(to, from, size);
    }
}

#endif
