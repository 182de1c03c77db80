/* kernels/overlap.h: for assertions in kernels: whether two arrays are disjoint. Private to
 * kernels/.
 */
#ifndef KERNELS_OVERLAP_H
#define KERNELS_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool are_disjoint(const float *a, size_t a_count, const float *b, size_t b_count)
{
    return (uintptr_t)(a + a_count) <= (uintptr_t)b || (uintptr_t)(b + b_count) <= (uintptr_t)a;
}

#endif
