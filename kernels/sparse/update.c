#include "kernels/sparse/update.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/base/small_numbers.h"
#include "kernels/optimizer/real.h"

const char *const sparse_kind_names[SPARSE_KINDS + 1] = {
    [SPARSE_SGD] = "sgd",
    [SPARSE_MOMENTUM] = "momentum",
    [SPARSE_ADAGRAD] = "adagrad",
    [SPARSE_ROW_ADAGRAD] = "row_adagrad",
    [SPARSE_LAZY_ADAM] = "lazy_adam",
    [SPARSE_FTRL] = "ftrl",
    [SPARSE_KINDS] = NULL,
};

uint32_t sparse_state(enum sparse_kind kind, uint32_t width)
{
    switch (kind) {
    case SPARSE_SGD: return 0;
    case SPARSE_MOMENTUM:
    case SPARSE_ADAGRAD: return width;
    case SPARSE_ROW_ADAGRAD: return 1;
    case SPARSE_LAZY_ADAM:
    case SPARSE_FTRL: return 2 * width;
    case SPARSE_KINDS: break;
    }
    assert(kind < SPARSE_KINDS);
    return 0;
}

struct sparse_constants sparse_constants_of(const struct sparse_optimizer *optimizer,
                                            double learning_rate, uint64_t step)
{
    const bool adam = optimizer->kind == SPARSE_LAZY_ADAM;
    const double first = adam ? 1 - real_power(optimizer->beta1, step + 1) : 1;
    const double second = adam ? 1 - real_power(optimizer->beta2, step + 1) : 1;
    assert(learning_rate >= 0);
    return (struct sparse_constants){
        .rate = (float)(learning_rate / first),
        .limit = optimizer->clip_value > 0 ? (float)optimizer->clip_value : INFINITY,
        .momentum = (float)optimizer->momentum,
        .beta1 = (float)optimizer->beta1,
        .one_minus_beta1 = (float)(1 - optimizer->beta1),
        .beta2 = (float)optimizer->beta2,
        .one_minus_beta2 = (float)(1 - optimizer->beta2),
        .root = (float)(1 / sqrt(second)),
        .epsilon = (float)optimizer->epsilon,
        .l1 = (float)optimizer->l1,
        .l2 = (float)optimizer->l2,
        .beta = (float)optimizer->beta,
    };
}

static inline float state_of(float x)
{
    return ZERO_IF_BELOW(SMALLEST_STATE, x);
}

/* A NaN is returned as it is. */
static inline float limited(float gradient, float limit)
{
    const float g = ZERO_IF_BELOW(SMALLEST_GRADIENT, gradient);
    if (g < -limit) { return -limit; }
    if (g > limit) { return limit; }
    return g;
}

/* The elements of a row are independent. So that the compiler vectorises the loops, each array of a
 * row has a pointer of its own, and constants are passed by value. */
typedef void update(uint32_t width, const struct sparse_constants *constants,
                    const float *restrict gradient, const float *restrict in, float *restrict out);

static void update_sgd(uint32_t width, const struct sparse_constants *constants,
                       const float *restrict gradient, const float *restrict in,
                       float *restrict out)
{
    for (uint32_t c = 0; c < width; c++) {
        out[c] = in[c] - constants->rate * limited(gradient[c], constants->limit);
    }
}

static inline void momentum(size_t width, struct sparse_constants k, const float *restrict gradient,
                            const float *restrict w, const float *restrict velocity,
                            float *restrict w_out, float *restrict velocity_out)
{
    for (size_t c = 0; c < width; c++) {
        const float next = state_of(k.momentum * velocity[c] + limited(gradient[c], k.limit));
        velocity_out[c] = next;
        w_out[c] = w[c] - k.rate * next;
    }
}

static void update_momentum(uint32_t width, const struct sparse_constants *constants,
                            const float *restrict gradient, const float *restrict in,
                            float *restrict out)
{
    momentum(width, *constants, gradient, in, in + width, out, out + width);
}

static inline void adagrad(size_t width, struct sparse_constants k, const float *restrict gradient,
                           const float *restrict w, const float *restrict squares,
                           float *restrict w_out, float *restrict squares_out)
{
    for (size_t c = 0; c < width; c++) {
        const float g = limited(gradient[c], k.limit);
        const float next = squares[c] + g * g;
        squares_out[c] = next;
        w_out[c] = w[c] - k.rate * g / (sqrtf(next) + k.epsilon);
    }
}

static void update_adagrad(uint32_t width, const struct sparse_constants *constants,
                           const float *restrict gradient, const float *restrict in,
                           float *restrict out)
{
    adagrad(width, *constants, gradient, in, in + width, out, out + width);
}

static void update_row_adagrad(uint32_t width, const struct sparse_constants *constants,
                               const float *restrict gradient, const float *restrict in,
                               float *restrict out)
{
    float sum = 0;
    /* The sum has an order; all else is done for several columns at a time. */
    for (uint32_t c = 0; c < width; c++) { out[c] = limited(gradient[c], constants->limit); }
    for (uint32_t c = 0; c < width; c++) { sum += out[c] * out[c]; }
    const float square = in[width] + sum / (float)width;
    const float root = sqrtf(square) + constants->epsilon;
    out[width] = square;
    for (uint32_t c = 0; c < width; c++) { out[c] = in[c] - constants->rate * out[c] / root; }
}

static inline void lazy_adam(size_t width, struct sparse_constants k,
                             const float *restrict gradient, const float *restrict w,
                             const float *restrict m, const float *restrict v,
                             float *restrict w_out, float *restrict m_out, float *restrict v_out)
{
    for (size_t c = 0; c < width; c++) {
        const float g = limited(gradient[c], k.limit);
        const float mean = state_of(k.beta1 * m[c] + k.one_minus_beta1 * g);
        const float squares = state_of(k.beta2 * v[c] + k.one_minus_beta2 * (g * g));
        m_out[c] = mean;
        v_out[c] = squares;
        w_out[c] = w[c] - k.rate * mean / (sqrtf(squares) * k.root + k.epsilon);
    }
}

static void update_lazy_adam(uint32_t width, const struct sparse_constants *constants,
                             const float *restrict gradient, const float *restrict in,
                             float *restrict out)
{
    const size_t m = width, v = 2 * (size_t)width;
    lazy_adam(width, *constants, gradient, in, in + m, in + v, out, out + m, out + v);
}

static inline void ftrl(size_t width, struct sparse_constants k, const float *restrict gradient,
                        const float *restrict w, const float *restrict z, const float *restrict n,
                        float *restrict w_out, float *restrict z_out, float *restrict n_out)
{
    for (size_t c = 0; c < width; c++) {
        const float g = limited(gradient[c], k.limit);
        const float squares = n[c] + g * g;
        const float sigma = (sqrtf(squares) - sqrtf(n[c])) / k.rate;
        const float next = (z[c] + g) - sigma * w[c];
        const float limit = next < 0 ? -k.l1 : k.l1;
        const float divisor = (k.beta + sqrtf(squares)) / k.rate + k.l2;
        const bool is_small = fabsf(next) <= k.l1;
        z_out[c] = next;
        n_out[c] = squares;
        w_out[c] = is_small || divisor == 0 ? 0 : (limit - next) / divisor;
    }
}

static void update_ftrl(uint32_t width, const struct sparse_constants *constants,
                        const float *restrict gradient, const float *restrict in,
                        float *restrict out)
{
    const size_t z = width, n = 2 * (size_t)width;
    if (constants->rate < FLT_MIN) {
        memcpy(out, in, (size_t)(width + sparse_state(SPARSE_FTRL, width)) * sizeof *out);
        return;
    }
    ftrl(width, *constants, gradient, in, in + z, in + n, out, out + z, out + n);
}

void sparse_update(enum sparse_kind kind, uint32_t width, const struct sparse_constants *constants,
                   const float *gradient, const float *in, float *out)
{
    static update *const updates[SPARSE_KINDS] = {
        [SPARSE_SGD] = update_sgd,
        [SPARSE_MOMENTUM] = update_momentum,
        [SPARSE_ADAGRAD] = update_adagrad,
        [SPARSE_ROW_ADAGRAD] = update_row_adagrad,
        [SPARSE_LAZY_ADAM] = update_lazy_adam,
        [SPARSE_FTRL] = update_ftrl,
    };
    assert(kind < SPARSE_KINDS && width > 0);
    updates[kind](width, constants, gradient, in, out);
}
