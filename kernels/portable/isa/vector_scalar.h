/* kernels/portable/isa/vector_scalar.h: vector.h in plain C, for any processor. It defines the
 * bits. Only vector.h includes it. */
#ifndef KERNELS_PORTABLE_ISA_VECTOR_SCALAR_H
#define KERNELS_PORTABLE_ISA_VECTOR_SCALAR_H

#include <math.h>

enum { VEC_LANES = 1 };
typedef float vec;
typedef int vec_mask;
typedef struct {
    float at[WIDE];
} wide;
typedef struct {
    uint32_t at[WIDE];
} ints;
/* 1 or 0. */
typedef struct {
    uint32_t at[WIDE];
} lanes;

typedef struct {
    double at[WIDE];
} doubles;

#define EACH_LANE for (size_t i = 0; i < WIDE; i++)

ISA_INLINE wide wide_set(float x)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = x;
    }
    return out;
}

ISA_INLINE wide wide_load(const float *at)
{
    wide out;
    memcpy(out.at, at, sizeof out.at);
    return out;
}

/* The first `count` floats, at most 16; zeros in the other lanes. Reads nothing behind them. */
ISA_INLINE wide wide_load_some(const float *at, size_t count)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = i < count ? at[i] : 0.0F;
    }
    return out;
}

ISA_INLINE void wide_store(float *at, wide x)
{
    memcpy(at, x.at, sizeof x.at);
}

ISA_INLINE void wide_store_some(float *at, wide x, size_t count)
{
    for (size_t i = 0; i < count; i++) { at[i] = x.at[i]; }
}

ISA_INLINE wide wide_add(wide a, wide b)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = a.at[i] + b.at[i];
    }
    return out;
}

ISA_INLINE wide wide_subtract(wide a, wide b)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = a.at[i] - b.at[i];
    }
    return out;
}

ISA_INLINE wide wide_multiply(wide a, wide b)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = a.at[i] * b.at[i];
    }
    return out;
}

ISA_INLINE wide wide_divide(wide a, wide b)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = a.at[i] / b.at[i];
    }
    return out;
}

/* a * b + c, rounded once. */
ISA_INLINE wide wide_fma(wide a, wide b, wide c)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = fmaf(a.at[i], b.at[i], c.at[i]);
    }
    return out;
}

ISA_INLINE wide wide_sqrt(wide x)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = sqrtf(x.at[i]);
    }
    return out;
}

ISA_INLINE lanes lanes_less(wide a, wide b)
{
    lanes out;
    EACH_LANE
    {
        out.at[i] = a.at[i] < b.at[i];
    }
    return out;
}

ISA_INLINE lanes lanes_equal(wide a, wide b)
{
    lanes out;
    EACH_LANE
    {
        out.at[i] = a.at[i] == b.at[i];
    }
    return out;
}

ISA_INLINE lanes lanes_less_ints(ints a, ints b)
{
    lanes out;
    EACH_LANE
    {
        out.at[i] = (int32_t)a.at[i] < (int32_t)b.at[i];
    }
    return out;
}

ISA_INLINE lanes lanes_equal_ints(ints a, ints b)
{
    lanes out;
    EACH_LANE
    {
        out.at[i] = a.at[i] == b.at[i];
    }
    return out;
}

ISA_INLINE wide wide_select(lanes which, wide yes, wide no)
{
    wide out;
    EACH_LANE
    {
        out.at[i] = which.at[i] != 0 ? yes.at[i] : no.at[i];
    }
    return out;
}

ISA_INLINE ints ints_select(lanes which, ints yes, ints no)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = which.at[i] != 0 ? yes.at[i] : no.at[i];
    }
    return out;
}

ISA_INLINE ints ints_set(uint32_t x)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = x;
    }
    return out;
}

/* 0, 1, ... 15 */
ISA_INLINE ints ints_count(void)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = (uint32_t)i;
    }
    return out;
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
    wide out;
    EACH_LANE
    {
        out.at[i] = (float)(int32_t)x.at[i];
    }
    return out;
}

ISA_INLINE ints ints_add(ints a, ints b)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = a.at[i] + b.at[i];
    }
    return out;
}

ISA_INLINE ints ints_subtract(ints a, ints b)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = a.at[i] - b.at[i];
    }
    return out;
}

ISA_INLINE ints ints_and(ints a, ints b)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = a.at[i] & b.at[i];
    }
    return out;
}

ISA_INLINE ints ints_or(ints a, ints b)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = a.at[i] | b.at[i];
    }
    return out;
}

ISA_INLINE ints ints_xor(ints a, ints b)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = a.at[i] ^ b.at[i];
    }
    return out;
}

ISA_INLINE ints ints_shift_left(ints x, unsigned bits)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = x.at[i] << bits;
    }
    return out;
}

/* Zeros come in from the left. */
ISA_INLINE ints ints_shift_right(ints x, unsigned bits)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = x.at[i] >> bits;
    }
    return out;
}

/* Copies of the sign come in from the left, as every supported compiler does. */
ISA_INLINE ints ints_shift_right_signed(ints x, unsigned bits)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = (uint32_t)((int32_t)x.at[i] >> bits);
    }
    return out;
}

/* The upper and the lower halves of the unsigned products. */
ISA_INLINE void ints_multiply(ints a, ints b, ints *high, ints *low)
{
    EACH_LANE
    {
        uint64_t product = (uint64_t)a.at[i] * b.at[i];
        high->at[i] = (uint32_t)(product >> 32);
        low->at[i] = (uint32_t)product;
    }
}

/* `count` bytes, at most 16, each becomes an integer; zeros in the other lanes. */
ISA_INLINE ints ints_load_bytes(const uint8_t *at, size_t count)
{
    ints out;
    EACH_LANE
    {
        out.at[i] = i < count ? at[i] : 0;
    }
    return out;
}

ISA_INLINE void ints_store_bytes(uint8_t *at, ints x, size_t count)
{
    for (size_t i = 0; i < count; i++) { at[i] = (uint8_t)x.at[i]; }
}

ISA_INLINE doubles doubles_zero(void)
{
    return (doubles){{0}};
}

/* sum + a * b in double, where the product is exact. */
ISA_INLINE doubles doubles_add_products(doubles sum, wide a, wide b)
{
    EACH_LANE
    {
        sum.at[i] += (double)a.at[i] * (double)b.at[i];
    }
    return sum;
}

ISA_INLINE void doubles_store(double *at, doubles x)
{
    memcpy(at, x.at, sizeof x.at);
}

/* One lane: there is no partial vector. */
ISA_INLINE vec_mask vec_first(size_t count)
{
    return (vec_mask)count;
}

ISA_INLINE vec vec_load(const float *at)
{
    return *at;
}

ISA_INLINE vec vec_load_some(vec_mask which, const float *at)
{
    return which != 0 ? *at : 0.0F;
}

ISA_INLINE void vec_store(float *at, vec x)
{
    *at = x;
}

ISA_INLINE void vec_store_some(vec_mask which, float *at, vec x)
{
    if (which != 0) { *at = x; }
}

ISA_INLINE vec vec_set(float x)
{
    return x;
}

ISA_INLINE vec vec_add(vec a, vec b)
{
    return a + b;
}

ISA_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return fmaf(a, b, c);
}

/* max(x, 0); a NaN stays, and so does -0. */
ISA_INLINE vec vec_relu(vec x)
{
    if (x < 0.0F) { return 0.0F; }
    return x;
}

#endif
