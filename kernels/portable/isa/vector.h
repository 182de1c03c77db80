/*
 * kernels/portable/isa/vector.h: the operations in which all kernels are written, for one class of
 * processors.
 *
 * `vec` is a register of VEC_LANES floats: 1, 4, 8 or 16. Only the tile of the matrix product uses
 * it, because its size is a matter of the register file.
 *
 * `wide` is 16 floats in every class: one register with AVX-512, two with AVX2, four with NEON,
 * an array in plain C. All other kernels use it. Their sums have 16 lanes and one fixed tree, so
 * their bits do not depend on the registers. `ints` is 16 integers of 32 bits, `doubles` 16
 * doubles, `lanes` 16 truth values.
 *
 * Each operation is IEEE 754's, rounded once; no class uses approximate instructions. A NaN stays a
 * NaN, but its sign and payload differ between processors and compilers.
 */
#ifndef KERNELS_PORTABLE_ISA_VECTOR_H
#define KERNELS_PORTABLE_ISA_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/minmax.h"
#include "kernels/portable/isa/isa.h"

enum { WIDE = 16 };

#if defined(__AVX512F__)
#include "kernels/portable/isa/vector_avx512.h"
#elif defined(__AVX2__)
#include "kernels/portable/isa/vector_avx2.h"
#elif defined(PORTABLE_NEON)
#include "kernels/portable/isa/vector_neon.h"
#else
#include "kernels/portable/isa/vector_scalar.h"
#endif

#include "kernels/portable/isa/lanewise.h"

/* A vector of `size` floats, 1 to 16; zeros in the other lanes. */
ISA_INLINE wide wide_load_up_to(const float *at, size_t size)
{
    return size == WIDE ? wide_load(at) : wide_load_some(at, size);
}

ISA_INLINE void wide_store_up_to(float *at, wide x, size_t size)
{
    if (size == WIDE) {
        wide_store(at, x);
    } else {
        wide_store_some(at, x, size);
    }
}

/* The sum of the lanes by a fixed tree: lane i and i + 8, then i + 4, i + 2, i + 1. */
ISA_INLINE float wide_sum(wide x)
{
    float lane[WIDE];
    wide_store(lane, x);
    for (size_t half = WIDE / 2; half >= 1; half /= 2) {
        for (size_t i = 0; i < half; i++) { lane[i] += lane[i + half]; }
    }
    return lane[0];
}

/* The sum of doubles, in the order of the same tree. */
ISA_INLINE double doubles_sum(doubles x)
{
    double lane[WIDE];
    doubles_store(lane, x);
    for (size_t half = WIDE / 2; half >= 1; half /= 2) {
        for (size_t i = 0; i < half; i++) { lane[i] += lane[i + half]; }
    }
    return lane[0];
}

/* The greatest lane. If a lane is a NaN, the result is one of the lanes. */
ISA_INLINE float wide_greatest(wide x)
{
    float lane[WIDE], best;
    wide_store(lane, x);
    best = lane[0];
    for (size_t i = 1; i < WIDE; i++) {
        if (lane[i] > best) { best = lane[i]; }
    }
    return best;
}

#endif
