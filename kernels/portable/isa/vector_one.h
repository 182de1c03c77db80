/*
 * kernels/portable/isa/vector_one.h: the operations of vector.h on which math.h and rules.h rest,
 * on one lane: `wide` is a float. For kernels of GPUs, where each thread computes one element, in
 * the subset of C that is also CUDA C++.
 */
#ifndef KERNELS_PORTABLE_ISA_VECTOR_ONE_H
#define KERNELS_PORTABLE_ISA_VECTOR_ONE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/portable/isa/isa.h"

typedef float wide;
typedef uint32_t ints;
typedef bool lanes;

/* The one operation that fuses: a count of all others in compiled code must find none. */
#if defined(PORTABLE_FMA)
#define vector_fma(a, b, c) PORTABLE_FMA(a, b, c)
#else
#define vector_fma(a, b, c) fmaf(a, b, c)
#endif

#define ONE_BINARY(name, type, result, expression)                                                 \
    ISA_INLINE result name(type a, type b)                                                         \
    {                                                                                              \
        return expression;                                                                         \
    }

ONE_BINARY(wide_add, wide, wide, a + b)
ONE_BINARY(wide_subtract, wide, wide, a - b)
ONE_BINARY(wide_multiply, wide, wide, a *b)
ONE_BINARY(wide_divide, wide, wide, a / b)
ONE_BINARY(lanes_less, wide, lanes, a < b)
ONE_BINARY(lanes_equal, wide, lanes, a == b)
ONE_BINARY(ints_add, ints, ints, a + b)
ONE_BINARY(ints_subtract, ints, ints, a - b)
ONE_BINARY(ints_and, ints, ints, a &b)
ONE_BINARY(ints_or, ints, ints, a | b)
ONE_BINARY(ints_xor, ints, ints, a ^ b)

ISA_INLINE wide wide_set(float x)
{
    return x;
}

/* a * b + c, rounded once. */
ISA_INLINE wide wide_fma(wide a, wide b, wide c)
{
    return vector_fma(a, b, c);
}

ISA_INLINE wide wide_sqrt(wide x)
{
    return sqrtf(x);
}

ISA_INLINE wide wide_select(lanes which, wide yes, wide no)
{
    return which ? yes : no;
}

ISA_INLINE ints ints_select(lanes which, ints yes, ints no)
{
    return which ? yes : no;
}

ISA_INLINE ints ints_set(uint32_t x)
{
    return x;
}

ISA_INLINE ints ints_of_bits(wide x)
{
    ints out;
    memcpy(&out, &x, sizeof out);
    return out;
}

ISA_INLINE wide wide_of_bits(ints x)
{
    wide out;
    memcpy(&out, &x, sizeof out);
    return out;
}

ISA_INLINE wide wide_of_ints(ints x)
{
    return (float)(int32_t)x;
}

ISA_INLINE ints ints_shift_left(ints x, unsigned bits)
{
    return x << bits;
}

/* Copies of the sign come in from the left, as every supported compiler does. */
ISA_INLINE ints ints_shift_right_signed(ints x, unsigned bits)
{
    return (uint32_t)((int32_t)x >> bits);
}

#include "kernels/portable/isa/lanewise.h"

#endif
