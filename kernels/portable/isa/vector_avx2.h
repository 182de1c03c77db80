/* kernels/portable/isa/vector_avx2.h: vector.h for AVX2 with FMA: two registers of 8 floats. Only
 * vector.h includes it. */
#ifndef KERNELS_PORTABLE_ISA_VECTOR_AVX2_H
#define KERNELS_PORTABLE_ISA_VECTOR_AVX2_H

#include <immintrin.h>

enum { VEC_LANES = 8 };
typedef __m256 vec;
typedef __m256i vec_mask;
typedef struct {
    __m256 lower, upper;
} wide;
typedef struct {
    __m256i lower, upper;
} ints;
/* All bits of a lane are equal. */
typedef ints lanes;
typedef struct {
    __m256d part[4];
} doubles;

ISA_INLINE wide wide_set(float x)
{
    return (wide){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

ISA_INLINE wide wide_load(const float *at)
{
    return (wide){_mm256_loadu_ps(at), _mm256_loadu_ps(at + 8)};
}

/* A mask of the first `count` lanes, at most 8. */
ISA_INLINE __m256i vec_first(size_t count)
{
    __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), place);
}

/* The lanes of the upper register among the first `count`. */
ISA_INLINE size_t upper_count(size_t count)
{
    return count > 8 ? count - 8 : 0;
}

/* The first `count` floats, at most 16; zeros in the other lanes. Reads nothing behind them. */
ISA_INLINE wide wide_load_some(const float *at, size_t count)
{
    return (wide){_mm256_maskload_ps(at, vec_first(count)),
                  _mm256_maskload_ps(at + 8, vec_first(upper_count(count)))};
}

ISA_INLINE void wide_store(float *at, wide x)
{
    _mm256_storeu_ps(at, x.lower);
    _mm256_storeu_ps(at + 8, x.upper);
}

ISA_INLINE void wide_store_some(float *at, wide x, size_t count)
{
    _mm256_maskstore_ps(at, vec_first(count), x.lower);
    _mm256_maskstore_ps(at + 8, vec_first(upper_count(count)), x.upper);
}

ISA_INLINE wide wide_add(wide a, wide b)
{
    return (wide){_mm256_add_ps(a.lower, b.lower), _mm256_add_ps(a.upper, b.upper)};
}

ISA_INLINE wide wide_subtract(wide a, wide b)
{
    return (wide){_mm256_sub_ps(a.lower, b.lower), _mm256_sub_ps(a.upper, b.upper)};
}

ISA_INLINE wide wide_multiply(wide a, wide b)
{
    return (wide){_mm256_mul_ps(a.lower, b.lower), _mm256_mul_ps(a.upper, b.upper)};
}

ISA_INLINE wide wide_divide(wide a, wide b)
{
    return (wide){_mm256_div_ps(a.lower, b.lower), _mm256_div_ps(a.upper, b.upper)};
}

/* a * b + c, rounded once. */
ISA_INLINE wide wide_fma(wide a, wide b, wide c)
{
    return (wide){_mm256_fmadd_ps(a.lower, b.lower, c.lower),
                  _mm256_fmadd_ps(a.upper, b.upper, c.upper)};
}

ISA_INLINE wide wide_sqrt(wide x)
{
    return (wide){_mm256_sqrt_ps(x.lower), _mm256_sqrt_ps(x.upper)};
}

ISA_INLINE lanes lanes_less(wide a, wide b)
{
    return (lanes){_mm256_castps_si256(_mm256_cmp_ps(a.lower, b.lower, _CMP_LT_OQ)),
                   _mm256_castps_si256(_mm256_cmp_ps(a.upper, b.upper, _CMP_LT_OQ))};
}

ISA_INLINE lanes lanes_equal(wide a, wide b)
{
    return (lanes){_mm256_castps_si256(_mm256_cmp_ps(a.lower, b.lower, _CMP_EQ_OQ)),
                   _mm256_castps_si256(_mm256_cmp_ps(a.upper, b.upper, _CMP_EQ_OQ))};
}

ISA_INLINE lanes lanes_less_ints(ints a, ints b)
{
    return (lanes){_mm256_cmpgt_epi32(b.lower, a.lower), _mm256_cmpgt_epi32(b.upper, a.upper)};
}

ISA_INLINE lanes lanes_equal_ints(ints a, ints b)
{
    return (lanes){_mm256_cmpeq_epi32(a.lower, b.lower), _mm256_cmpeq_epi32(a.upper, b.upper)};
}

ISA_INLINE wide wide_select(lanes which, wide yes, wide no)
{
    return (wide){_mm256_blendv_ps(no.lower, yes.lower, _mm256_castsi256_ps(which.lower)),
                  _mm256_blendv_ps(no.upper, yes.upper, _mm256_castsi256_ps(which.upper))};
}

ISA_INLINE ints ints_select(lanes which, ints yes, ints no)
{
    return (ints){_mm256_blendv_epi8(no.lower, yes.lower, which.lower),
                  _mm256_blendv_epi8(no.upper, yes.upper, which.upper)};
}

ISA_INLINE ints ints_set(uint32_t x)
{
    return (ints){_mm256_set1_epi32((int)x), _mm256_set1_epi32((int)x)};
}

/* 0, 1, ... 15 */
ISA_INLINE ints ints_count(void)
{
    return (ints){_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                  _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
}

ISA_INLINE ints ints_of_bits(wide x)
{
    return (ints){_mm256_castps_si256(x.lower), _mm256_castps_si256(x.upper)};
}

ISA_INLINE wide wide_of_bits(ints x)
{
    return (wide){_mm256_castsi256_ps(x.lower), _mm256_castsi256_ps(x.upper)};
}

ISA_INLINE wide wide_of_ints(ints x)
{
    return (wide){_mm256_cvtepi32_ps(x.lower), _mm256_cvtepi32_ps(x.upper)};
}

ISA_INLINE ints ints_add(ints a, ints b)
{
    return (ints){_mm256_add_epi32(a.lower, b.lower), _mm256_add_epi32(a.upper, b.upper)};
}

ISA_INLINE ints ints_subtract(ints a, ints b)
{
    return (ints){_mm256_sub_epi32(a.lower, b.lower), _mm256_sub_epi32(a.upper, b.upper)};
}

ISA_INLINE ints ints_and(ints a, ints b)
{
    return (ints){_mm256_and_si256(a.lower, b.lower), _mm256_and_si256(a.upper, b.upper)};
}

ISA_INLINE ints ints_or(ints a, ints b)
{
    return (ints){_mm256_or_si256(a.lower, b.lower), _mm256_or_si256(a.upper, b.upper)};
}

ISA_INLINE ints ints_xor(ints a, ints b)
{
    return (ints){_mm256_xor_si256(a.lower, b.lower), _mm256_xor_si256(a.upper, b.upper)};
}

ISA_INLINE ints ints_shift_left(ints x, unsigned bits)
{
    return (ints){_mm256_slli_epi32(x.lower, (int)bits), _mm256_slli_epi32(x.upper, (int)bits)};
}

/* Zeros come in from the left. */
ISA_INLINE ints ints_shift_right(ints x, unsigned bits)
{
    return (ints){_mm256_srli_epi32(x.lower, (int)bits), _mm256_srli_epi32(x.upper, (int)bits)};
}

/* Copies of the sign come in from the left. */
ISA_INLINE ints ints_shift_right_signed(ints x, unsigned bits)
{
    return (ints){_mm256_srai_epi32(x.lower, (int)bits), _mm256_srai_epi32(x.upper, (int)bits)};
}

ISA_INLINE void vec_multiply_ints(__m256i a, __m256i b, __m256i *high, __m256i *low)
{
    __m256i even = _mm256_mul_epu32(a, b);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

/* The upper and the lower halves of the unsigned products. */
ISA_INLINE void ints_multiply(ints a, ints b, ints *high, ints *low)
{
    vec_multiply_ints(a.lower, b.lower, &high->lower, &low->lower);
    vec_multiply_ints(a.upper, b.upper, &high->upper, &low->upper);
}

/* `count` bytes, at most 16, each becomes an integer; zeros in the other lanes. */
ISA_INLINE ints ints_load_bytes(const uint8_t *at, size_t count)
{
    uint8_t bytes[WIDE] = {0};
    if (count < WIDE) {
        for (size_t i = 0; i < count; i++) { bytes[i] = at[i]; }
        at = bytes;
    }
    __m128i all = _mm_loadu_si128((const __m128i *)(const void *)at);
    return (ints){_mm256_cvtepu8_epi32(all), _mm256_cvtepu8_epi32(_mm_srli_si128(all, 8))};
}

ISA_INLINE void ints_store_bytes(uint8_t *at, ints x, size_t count)
{
    __m256i pairs = _mm256_permute4x64_epi64(_mm256_packus_epi32(x.lower, x.upper), 0xd8);
    __m128i all =
        _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    if (count == WIDE) {
        _mm_storeu_si128((__m128i *)(void *)at, all);
        return;
    }
    uint8_t bytes[WIDE];
    _mm_storeu_si128((__m128i *)(void *)bytes, all);
    for (size_t i = 0; i < count; i++) { at[i] = bytes[i]; }
}

ISA_INLINE doubles doubles_zero(void)
{
    __m256d zero = _mm256_setzero_pd();
    return (doubles){{zero, zero, zero, zero}};
}

ISA_INLINE __m256d quarter_of(wide x, size_t quarter)
{
    __m256 half = quarter < 2 ? x.lower : x.upper;
    return _mm256_cvtps_pd(quarter % 2 == 0 ? _mm256_castps256_ps128(half)
                                            : _mm256_extractf128_ps(half, 1));
}

/* sum + a * b in double, where the product is exact. */
ISA_INLINE doubles doubles_add_products(doubles sum, wide a, wide b)
{
    ISA_UNROLL for (size_t i = 0; i < 4; i++)
    {
        __m256d product = _mm256_mul_pd(quarter_of(a, i), quarter_of(b, i));
        sum.part[i] = _mm256_add_pd(sum.part[i], product);
    }
    return sum;
}

ISA_INLINE void doubles_store(double *at, doubles x)
{
    for (size_t i = 0; i < 4; i++) { _mm256_storeu_pd(at + 4 * i, x.part[i]); }
}

ISA_INLINE vec vec_load(const float *at)
{
    return _mm256_loadu_ps(at);
}

ISA_INLINE vec vec_load_some(vec_mask which, const float *at)
{
    return _mm256_maskload_ps(at, which);
}

ISA_INLINE void vec_store(float *at, vec x)
{
    _mm256_storeu_ps(at, x);
}

ISA_INLINE void vec_store_some(vec_mask which, float *at, vec x)
{
    _mm256_maskstore_ps(at, which, x);
}

ISA_INLINE vec vec_set(float x)
{
    return _mm256_set1_ps(x);
}

ISA_INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

ISA_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* max(x, 0); a NaN stays, and so does -0. */
ISA_INLINE vec vec_relu(vec x)
{
    return _mm256_max_ps(_mm256_setzero_ps(), x);
}

#endif
