/* bench/fused_apply.c: see fused_apply.h. Compiled for AVX2 on x86-64. */
#include "bench/fused_apply.h"

#include <math.h>

#include "common/base/small_numbers.h"

#if defined(__AVX2__)
#include <immintrin.h>

typedef __m256 lanes;
enum { LANES = 8 };

static lanes all(float value)
{
    return _mm256_set1_ps(value);
}
static lanes load(const float *from)
{
    return _mm256_load_ps(from);
}
static void store(float *to, lanes value)
{
    _mm256_stream_ps(to, value);
}
static lanes root(lanes value)
{
    return _mm256_sqrt_ps(value);
}
static lanes zero_if_below(float smallest, lanes x)
{
    const lanes size = _mm256_andnot_ps(all(-0.0F), x);
    return _mm256_and_ps(x, _mm256_cmp_ps(size, all(smallest), _CMP_NLT_UQ));
}
static void finish(void)
{
    _mm_sfence();
}
#else
typedef float lanes;
enum { LANES = 1 };

static lanes all(float value)
{
    return value;
}
static lanes load(const float *from)
{
    return *from;
}
static void store(float *to, lanes value)
{
    *to = value;
}
static lanes root(lanes value)
{
    return sqrtf(value);
}
static lanes zero_if_below(float smallest, lanes x)
{
    return ZERO_IF_BELOW(smallest, x);
}
static void finish(void)
{
}
#endif

void fused_apply(size_t count, const struct optimizer_constants *constants,
                 const float *const gradients[static FUSED_SLICES],
                 const float *const in[static OPTIMIZER_ARRAYS_MAX],
                 float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    const float *const *s = gradients;
    lanes beta1 = all(constants->beta1), rest1 = all(constants->one_minus_beta1);
    lanes beta2 = all(constants->beta2), rest2 = all(constants->one_minus_beta2);
    lanes rate = all(constants->rate), scale = all(constants->root);
    lanes epsilon = all(constants->epsilon);
    for (size_t i = 0; i < count; i += LANES) {
        lanes left = (load(s[0] + i) + load(s[1] + i)) + (load(s[2] + i) + load(s[3] + i));
        lanes right = (load(s[4] + i) + load(s[5] + i)) + (load(s[6] + i) + load(s[7] + i));
        lanes g = zero_if_below(SMALLEST_GRADIENT, left + right);
        lanes m = zero_if_below(SMALLEST_STATE, beta1 * load(in[1] + i) + rest1 * g);
        lanes v = zero_if_below(SMALLEST_STATE, beta2 * load(in[2] + i) + rest2 * (g * g));
        store(out[0] + i, load(in[0] + i) - rate * m / (root(v) * scale + epsilon));
        store(out[1] + i, m);
        store(out[2] + i, v);
    }
    finish();
}
