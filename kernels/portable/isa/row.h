/* kernels/portable/isa/row.h: sums and maxima of one row, for the families that work row by row.
 * Orders as in reduce.h. */
#ifndef KERNELS_PORTABLE_ISA_ROW_H
#define KERNELS_PORTABLE_ISA_ROW_H

#include "kernels/portable/isa/vector.h"

ISA_INLINE float row_sum(size_t count, const float *x)
{
    wide sum = wide_zero();
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        sum = wide_add(sum, wide_load_up_to(x + i, size));
    }
    return wide_sum(sum);
}

/* Lanes take fma(x, y, lane). */
ISA_INLINE float row_dot(size_t count, const float *x, const float *y)
{
    wide sum = wide_zero();
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        sum = wide_fma(wide_load_up_to(x + i, size), wide_load_up_to(y + i, size), sum);
    }
    return wide_sum(sum);
}

ISA_INLINE float row_greatest(size_t count, const float *x)
{
    wide best = wide_set(x[0]);
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) { best = wide_greater(wide_load(x + i), best); }
    float greatest = wide_greatest(best);
    for (; i < count; i++) {
        if (x[i] > greatest) { greatest = x[i]; }
    }
    return greatest;
}

#endif
