/* kernels/portable/isa/vector_neon.h: vector.h for AArch64: four registers of 4 floats. NEON
 * follows IEEE 754 there, with denormals. Only vector.h includes it. */
#ifndef KERNELS_PORTABLE_ISA_VECTOR_NEON_H
#define KERNELS_PORTABLE_ISA_VECTOR_NEON_H

#include <arm_neon.h>

enum { VEC_LANES = 4, QUARTERS = WIDE / VEC_LANES };
typedef float32x4_t vec;
/* The number of lanes that exist. */
typedef size_t vec_mask;
typedef struct {
    float32x4_t part[QUARTERS];
} wide;
typedef struct {
    uint32x4_t part[QUARTERS];
} ints;
/* All bits of a lane are equal. */
typedef ints lanes;
typedef struct {
    float64x2_t part[2 * QUARTERS];
} doubles;

#define EACH_QUARTER ISA_UNROLL for (size_t q = 0; q < QUARTERS; q++)

ISA_INLINE vec_mask vec_first(size_t count)
{
    return count;
}

ISA_INLINE vec vec_set(float x)
{
    return vdupq_n_f32(x);
}

ISA_INLINE vec vec_load(const float *at)
{
    return vld1q_f32(at);
}

/* At most 4 lanes; zeros in the others. Reads nothing behind them. */
ISA_INLINE vec vec_load_some(vec_mask which, const float *at)
{
    if (which >= VEC_LANES) { return vec_load(at); }
    vec x = vec_set(0.0F);
    if (which > 0) { x = vld1q_lane_f32(at, x, 0); }
    if (which > 1) { x = vld1q_lane_f32(at + 1, x, 1); }
    if (which > 2) { x = vld1q_lane_f32(at + 2, x, 2); }
    return x;
}

ISA_INLINE void vec_store(float *at, vec x)
{
    vst1q_f32(at, x);
}

ISA_INLINE void vec_store_some(vec_mask which, float *at, vec x)
{
    if (which >= VEC_LANES) {
        vec_store(at, x);
        return;
    }
    if (which > 0) { vst1q_lane_f32(at, x, 0); }
    if (which > 1) { vst1q_lane_f32(at + 1, x, 1); }
    if (which > 2) { vst1q_lane_f32(at + 2, x, 2); }
}

ISA_INLINE vec vec_add(vec a, vec b)
{
    return vaddq_f32(a, b);
}

ISA_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

/* max(x, 0); a NaN stays, and so does -0. */
ISA_INLINE vec vec_relu(vec x)
{
    uint32x4_t negative = vcltq_f32(x, vec_set(0.0F));
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), negative));
}

/* The lanes of register q among the first `count` of 16. */
ISA_INLINE size_t quarter_count(size_t count, size_t q)
{
    return count > q * VEC_LANES ? size_min(count - q * VEC_LANES, VEC_LANES) : 0;
}

ISA_INLINE wide wide_set(float x)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vec_set(x);
    }
    return out;
}

ISA_INLINE wide wide_load(const float *at)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vec_load(at + q * VEC_LANES);
    }
    return out;
}

/* The first `count` floats, at most 16; zeros in the other lanes. Reads nothing behind them. */
ISA_INLINE wide wide_load_some(const float *at, size_t count)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vec_load_some(quarter_count(count, q), at + q * VEC_LANES);
    }
    return out;
}

ISA_INLINE void wide_store(float *at, wide x)
{
    EACH_QUARTER
    {
        vec_store(at + q * VEC_LANES, x.part[q]);
    }
}

ISA_INLINE void wide_store_some(float *at, wide x, size_t count)
{
    EACH_QUARTER
    {
        vec_store_some(quarter_count(count, q), at + q * VEC_LANES, x.part[q]);
    }
}

ISA_INLINE wide wide_add(wide a, wide b)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vaddq_f32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE wide wide_subtract(wide a, wide b)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vsubq_f32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE wide wide_multiply(wide a, wide b)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vmulq_f32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE wide wide_divide(wide a, wide b)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vdivq_f32(a.part[q], b.part[q]);
    }
    return out;
}

/* a * b + c, rounded once. */
ISA_INLINE wide wide_fma(wide a, wide b, wide c)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vec_fma(a.part[q], b.part[q], c.part[q]);
    }
    return out;
}

ISA_INLINE wide wide_sqrt(wide x)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vsqrtq_f32(x.part[q]);
    }
    return out;
}

ISA_INLINE lanes lanes_less(wide a, wide b)
{
    lanes out;
    EACH_QUARTER
    {
        out.part[q] = vcltq_f32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE lanes lanes_equal(wide a, wide b)
{
    lanes out;
    EACH_QUARTER
    {
        out.part[q] = vceqq_f32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE lanes lanes_less_ints(ints a, ints b)
{
    lanes out;
    EACH_QUARTER
    {
        out.part[q] = vcltq_s32(vreinterpretq_s32_u32(a.part[q]), vreinterpretq_s32_u32(b.part[q]));
    }
    return out;
}

ISA_INLINE lanes lanes_equal_ints(ints a, ints b)
{
    lanes out;
    EACH_QUARTER
    {
        out.part[q] = vceqq_u32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE wide wide_select(lanes which, wide yes, wide no)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vbslq_f32(which.part[q], yes.part[q], no.part[q]);
    }
    return out;
}

ISA_INLINE ints ints_select(lanes which, ints yes, ints no)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vbslq_u32(which.part[q], yes.part[q], no.part[q]);
    }
    return out;
}

ISA_INLINE ints ints_set(uint32_t x)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vdupq_n_u32(x);
    }
    return out;
}

/* 0, 1, ... 15 */
ISA_INLINE ints ints_count(void)
{
    static const uint32_t first[VEC_LANES] = {0, 1, 2, 3};
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vaddq_u32(vld1q_u32(first), vdupq_n_u32((uint32_t)(q * VEC_LANES)));
    }
    return out;
}

ISA_INLINE ints ints_of_bits(wide x)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vreinterpretq_u32_f32(x.part[q]);
    }
    return out;
}

ISA_INLINE wide wide_of_bits(ints x)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vreinterpretq_f32_u32(x.part[q]);
    }
    return out;
}

ISA_INLINE wide wide_of_ints(ints x)
{
    wide out;
    EACH_QUARTER
    {
        out.part[q] = vcvtq_f32_s32(vreinterpretq_s32_u32(x.part[q]));
    }
    return out;
}

ISA_INLINE ints ints_add(ints a, ints b)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vaddq_u32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE ints ints_subtract(ints a, ints b)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vsubq_u32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE ints ints_and(ints a, ints b)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vandq_u32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE ints ints_or(ints a, ints b)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vorrq_u32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE ints ints_xor(ints a, ints b)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = veorq_u32(a.part[q], b.part[q]);
    }
    return out;
}

ISA_INLINE ints ints_shift_left(ints x, unsigned bits)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vshlq_u32(x.part[q], vdupq_n_s32((int32_t)bits));
    }
    return out;
}

/* Zeros come in from the left. */
ISA_INLINE ints ints_shift_right(ints x, unsigned bits)
{
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vshlq_u32(x.part[q], vdupq_n_s32(-(int32_t)bits));
    }
    return out;
}

/* Copies of the sign come in from the left. */
ISA_INLINE ints ints_shift_right_signed(ints x, unsigned bits)
{
    int32x4_t right = vdupq_n_s32(-(int32_t)bits);
    ints out;
    EACH_QUARTER
    {
        out.part[q] = vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(x.part[q]), right));
    }
    return out;
}

/* The upper and the lower halves of the unsigned products. */
ISA_INLINE void ints_multiply(ints a, ints b, ints *high, ints *low)
{
    EACH_QUARTER
    {
        uint64x2_t first = vmull_u32(vget_low_u32(a.part[q]), vget_low_u32(b.part[q]));
        uint64x2_t second = vmull_high_u32(a.part[q], b.part[q]);
        uint32x4_t x = vreinterpretq_u32_u64(first), y = vreinterpretq_u32_u64(second);
        low->part[q] = vuzp1q_u32(x, y);
        high->part[q] = vuzp2q_u32(x, y);
    }
}

/* `count` bytes, at most 16, each becomes an integer; zeros in the other lanes. */
ISA_INLINE ints ints_load_bytes(const uint8_t *at, size_t count)
{
    uint8_t bytes[WIDE] = {0};
    if (count < WIDE) {
        for (size_t i = 0; i < count; i++) { bytes[i] = at[i]; }
        at = bytes;
    }
    uint8x16_t all = vld1q_u8(at);
    uint16x8_t lower = vmovl_u8(vget_low_u8(all)), upper = vmovl_high_u8(all);
    return (ints){{vmovl_u16(vget_low_u16(lower)), vmovl_high_u16(lower),
                   vmovl_u16(vget_low_u16(upper)), vmovl_high_u16(upper)}};
}

ISA_INLINE void ints_store_bytes(uint8_t *at, ints x, size_t count)
{
    uint16x8_t lower = vmovn_high_u32(vmovn_u32(x.part[0]), x.part[1]);
    uint16x8_t upper = vmovn_high_u32(vmovn_u32(x.part[2]), x.part[3]);
    uint8x16_t all = vmovn_high_u16(vmovn_u16(lower), upper);
    if (count == WIDE) {
        vst1q_u8(at, all);
        return;
    }
    uint8_t bytes[WIDE];
    vst1q_u8(bytes, all);
    for (size_t i = 0; i < count; i++) { at[i] = bytes[i]; }
}

ISA_INLINE doubles doubles_zero(void)
{
    doubles out;
    for (size_t i = 0; i < sizeof out.part / sizeof out.part[0]; i++) {
        out.part[i] = vdupq_n_f64(0.0);
    }
    return out;
}

/* sum + a * b in double, where the product is exact. */
ISA_INLINE doubles doubles_add_products(doubles sum, wide a, wide b)
{
    EACH_QUARTER
    {
        float64x2_t first =
            vmulq_f64(vcvt_f64_f32(vget_low_f32(a.part[q])), vcvt_f64_f32(vget_low_f32(b.part[q])));
        float64x2_t second = vmulq_f64(vcvt_high_f64_f32(a.part[q]), vcvt_high_f64_f32(b.part[q]));
        sum.part[2 * q] = vaddq_f64(sum.part[2 * q], first);
        sum.part[2 * q + 1] = vaddq_f64(sum.part[2 * q + 1], second);
    }
    return sum;
}

ISA_INLINE void doubles_store(double *at, doubles x)
{
    for (size_t i = 0; i < sizeof x.part / sizeof x.part[0]; i++) {
        vst1q_f64(at + 2 * i, x.part[i]);
    }
}

#endif
