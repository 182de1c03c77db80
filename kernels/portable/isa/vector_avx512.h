/* kernels/portable/isa/vector_avx512.h: vector.h for AVX-512 (F, BW, DQ, VL): one register of 16
 * floats. Only vector.h includes it. */
#ifndef KERNELS_PORTABLE_ISA_VECTOR_AVX512_H
#define KERNELS_PORTABLE_ISA_VECTOR_AVX512_H

#include <immintrin.h>

enum { VEC_LANES = 16 };
typedef __m512 vec;
typedef __mmask16 vec_mask;
typedef __m512 wide;
typedef __m512i ints;
typedef __mmask16 lanes;
typedef struct {
    __m512d lower, upper;
} doubles;

ISA_INLINE lanes lanes_first(size_t count)
{
    return (lanes)((1U << count) - 1U);
}

ISA_INLINE wide wide_set(float x)
{
    return _mm512_set1_ps(x);
}

ISA_INLINE wide wide_load(const float *at)
{
    return _mm512_loadu_ps(at);
}

/* The first `count` floats, at most 16; zeros in the other lanes. Reads nothing behind them. */
ISA_INLINE wide wide_load_some(const float *at, size_t count)
{
    return _mm512_maskz_loadu_ps(lanes_first(count), at);
}

ISA_INLINE void wide_store(float *at, wide x)
{
    _mm512_storeu_ps(at, x);
}

ISA_INLINE void wide_store_some(float *at, wide x, size_t count)
{
    _mm512_mask_storeu_ps(at, lanes_first(count), x);
}

ISA_INLINE wide wide_add(wide a, wide b)
{
    return _mm512_add_ps(a, b);
}

ISA_INLINE wide wide_subtract(wide a, wide b)
{
    return _mm512_sub_ps(a, b);
}

ISA_INLINE wide wide_multiply(wide a, wide b)
{
    return _mm512_mul_ps(a, b);
}

ISA_INLINE wide wide_divide(wide a, wide b)
{
    return _mm512_div_ps(a, b);
}

/* a * b + c, rounded once. */
ISA_INLINE wide wide_fma(wide a, wide b, wide c)
{
    return _mm512_fmadd_ps(a, b, c);
}

ISA_INLINE wide wide_sqrt(wide x)
{
    return _mm512_sqrt_ps(x);
}

ISA_INLINE lanes lanes_less(wide a, wide b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

ISA_INLINE lanes lanes_equal(wide a, wide b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

ISA_INLINE lanes lanes_less_ints(ints a, ints b)
{
    return _mm512_cmplt_epi32_mask(a, b);
}

ISA_INLINE lanes lanes_equal_ints(ints a, ints b)
{
    return _mm512_cmpeq_epi32_mask(a, b);
}

ISA_INLINE wide wide_select(lanes which, wide yes, wide no)
{
    return _mm512_mask_blend_ps(which, no, yes);
}

ISA_INLINE ints ints_select(lanes which, ints yes, ints no)
{
    return _mm512_mask_blend_epi32(which, no, yes);
}

ISA_INLINE ints ints_set(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

/* 0, 1, ... 15 */
ISA_INLINE ints ints_count(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

ISA_INLINE ints ints_of_bits(wide x)
{
    return _mm512_castps_si512(x);
}

ISA_INLINE wide wide_of_bits(ints x)
{
    return _mm512_castsi512_ps(x);
}

ISA_INLINE wide wide_of_ints(ints x)
{
    return _mm512_cvtepi32_ps(x);
}

ISA_INLINE ints ints_add(ints a, ints b)
{
    return _mm512_add_epi32(a, b);
}

ISA_INLINE ints ints_subtract(ints a, ints b)
{
    return _mm512_sub_epi32(a, b);
}

ISA_INLINE ints ints_and(ints a, ints b)
{
    return _mm512_and_si512(a, b);
}

ISA_INLINE ints ints_or(ints a, ints b)
{
    return _mm512_or_si512(a, b);
}

ISA_INLINE ints ints_xor(ints a, ints b)
{
    return _mm512_xor_si512(a, b);
}

ISA_INLINE ints ints_shift_left(ints x, unsigned bits)
{
    return _mm512_slli_epi32(x, bits);
}

/* Zeros come in from the left. */
ISA_INLINE ints ints_shift_right(ints x, unsigned bits)
{
    return _mm512_srli_epi32(x, bits);
}

/* Copies of the sign come in from the left. */
ISA_INLINE ints ints_shift_right_signed(ints x, unsigned bits)
{
    return _mm512_srai_epi32(x, bits);
}

/* The upper and the lower halves of the unsigned products. */
ISA_INLINE void ints_multiply(ints a, ints b, ints *high, ints *low)
{
    __m512i even = _mm512_mul_epu32(a, b);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    *high = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
    *low = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}

/* `count` bytes, at most 16, each becomes an integer; zeros in the other lanes. */
ISA_INLINE ints ints_load_bytes(const uint8_t *at, size_t count)
{
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes_first(count), at));
}

ISA_INLINE void ints_store_bytes(uint8_t *at, ints x, size_t count)
{
    _mm512_mask_cvtepi32_storeu_epi8(at, lanes_first(count), x);
}

ISA_INLINE doubles doubles_zero(void)
{
    return (doubles){_mm512_setzero_pd(), _mm512_setzero_pd()};
}

/* sum + a * b in double, where the product is exact. */
ISA_INLINE doubles doubles_add_products(doubles sum, wide a, wide b)
{
    __m512d low = _mm512_mul_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(a)),
                                _mm512_cvtps_pd(_mm512_castps512_ps256(b)));
    __m512d high = _mm512_mul_pd(_mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)),
                                 _mm512_cvtps_pd(_mm512_extractf32x8_ps(b, 1)));
    return (doubles){_mm512_add_pd(sum.lower, low), _mm512_add_pd(sum.upper, high)};
}

ISA_INLINE void doubles_store(double *at, doubles x)
{
    _mm512_storeu_pd(at, x.lower);
    _mm512_storeu_pd(at + 8, x.upper);
}

ISA_INLINE vec_mask vec_first(size_t count)
{
    return lanes_first(count);
}

ISA_INLINE vec vec_load(const float *at)
{
    return wide_load(at);
}

ISA_INLINE vec vec_load_some(vec_mask which, const float *at)
{
    return _mm512_maskz_loadu_ps(which, at);
}

ISA_INLINE void vec_store(float *at, vec x)
{
    wide_store(at, x);
}

ISA_INLINE void vec_store_some(vec_mask which, float *at, vec x)
{
    _mm512_mask_storeu_ps(at, which, x);
}

ISA_INLINE vec vec_set(float x)
{
    return wide_set(x);
}

ISA_INLINE vec vec_add(vec a, vec b)
{
    return wide_add(a, b);
}

ISA_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return wide_fma(a, b, c);
}

/* max(x, 0); a NaN stays, and so does -0. */
ISA_INLINE vec vec_relu(vec x)
{
    return _mm512_max_ps(_mm512_setzero_ps(), x);
}

#endif
