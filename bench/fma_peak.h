/* bench/fma_peak.h: the fused multiply-adds that one core can do: many independent accumulators
 * that never leave the registers. The limit of every matrix product. */
#ifndef BENCH_FMA_PEAK_H
#define BENCH_FMA_PEAK_H

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { PEAK_CHAINS = 12, PEAK_ROUNDS = 200000 };

/* A row of `bytes` / 4 lanes in each of PEAK_CHAINS accumulators; x = x * a + b tends to b / (1 -
 * a). Returns the number of floating-point operations. */
#define PEAK(name, bytes, instructions, fused)                                                     \
    instructions static double name(float *sink)                                                   \
    {                                                                                              \
        typedef float lanes __attribute__((vector_size(bytes)));                                   \
        lanes x[PEAK_CHAINS], a = {0}, b = {0}, sum = {0};                                         \
        a += 0.5F;                                                                                 \
        b += 0.25F;                                                                                \
        for (size_t i = 0; i < PEAK_CHAINS; i++) { x[i] = a * (float)i; }                          \
        for (size_t round = 0; round < PEAK_ROUNDS; round++) {                                     \
            PEAK_UNROLL for (size_t i = 0; i < PEAK_CHAINS; i++)                                   \
            {                                                                                      \
                x[i] = (lanes)fused(x[i], a, b);                                                   \
            }                                                                                      \
        }                                                                                          \
        for (size_t i = 0; i < PEAK_CHAINS; i++) { sum += x[i]; }                                  \
        *sink = sum[0];                                                                            \
        return 2.0 * PEAK_CHAINS * PEAK_ROUNDS * ((bytes) / sizeof(float));                        \
    }

#if defined(__clang__)
#define PEAK_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PEAK_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__x86_64__)
#include <immintrin.h>
PEAK(peak_avx512, 64, __attribute__((target("avx512f"))), _mm512_fmadd_ps)
PEAK(peak_avx2, 32, __attribute__((target("avx2,fma"))), _mm256_fmadd_ps)
#endif

/* The same for plain C: one lane. */
static double peak_scalar(float *sink)
{
    float x[PEAK_CHAINS];
    for (size_t i = 0; i < PEAK_CHAINS; i++) { x[i] = (float)i; }
    for (size_t round = 0; round < PEAK_ROUNDS / 16; round++) {
        PEAK_UNROLL for (size_t i = 0; i < PEAK_CHAINS; i++)
        {
            x[i] = fmaf(x[i], 0.5F, 0.25F);
        }
    }
    for (size_t i = 1; i < PEAK_CHAINS; i++) { x[0] += x[i]; }
    *sink = x[0];
    return 2.0 * PEAK_CHAINS * (PEAK_ROUNDS / 16);
}

/* Run the loop of class `name` once. */
static inline double peak_run(const char *name, float *sink)
{
#if defined(__x86_64__)
    if (strcmp(name, "avx512") == 0) { return peak_avx512(sink); }
    if (strcmp(name, "avx2") == 0) { return peak_avx2(sink); }
#endif
    (void)name;
    return peak_scalar(sink);
}

#endif
