/* common/base/minmax.h: the smaller and the larger of two numbers, and the bound of counters.
 * Pure. */
#ifndef COMMON_BASE_MINMAX_H
#define COMMON_BASE_MINMAX_H

#include <stddef.h>
#include <stdint.h>

/* The largest counter (epoch, generation, step, id, ...) that is accepted from outside. Sums
 * with it stay below 2^63, where JSON integers end. */
#define COUNTER_MAX ((UINT64_C(1) << 62) - 1)

static inline uint32_t u32_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t u32_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline double double_min(double a, double b)
{
    return a < b ? a : b;
}

static inline double double_max(double a, double b)
{
    return a > b ? a : b;
}

#endif
