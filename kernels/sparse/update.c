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

static void update_momentum(uint32_t width, const struct sparse_constants *constants,
                            const float *restrict gradient, const float *restrict in,
                            float *restrict out)
{
    for (uint32_t c = 0; c < width; c++) {
        const float g = limited(gradient[c], constants->limit);
        const float velocity = state_of(constants->momentum * in[width + c] + g);
        out[width + c] = velocity;
        out[c] = in[c] - constants->rate * velocity;
    }
}

static void update_adagrad(uint32_t width, const struct sparse_constants *constants,
                           const float *restrict gradient, const float *restrict in,
                           float *restrict out)
{
    for (uint32_t c = 0; c < width; c++) {
        const float g = limited(gradient[c], constants->limit);
        const float squares = in[width + c] + g * g;
        out[width + c] = squares;
        out[c] = in[c] - constants->rate * g / (sqrtf(squares) + constants->epsilon);
    }
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

static void update_lazy_adam(uint32_t width, const struct sparse_constants *constants,
                             const float *restrict gradient, const float *restrict in,
                             float *restrict out)
{
    for (uint32_t c = 0; c < width; c++) {
        const float g = limited(gradient[c], constants->limit);
        const float m = state_of(constants->beta1 * in[width + c] + constants->one_minus_beta1 * g);
        const float v =
            state_of(constants->beta2 * in[2 * width + c] + constants->one_minus_beta2 * (g * g));
        out[width + c] = m;
        out[2 * width + c] = v;
        out[c] = in[c] - constants->rate * m / (sqrtf(v) * constants->root + constants->epsilon);
    }
}

static void update_ftrl(uint32_t width, const struct sparse_constants *constants,
                        const float *restrict gradient, const float *restrict in,
                        float *restrict out)
{
    if (constants->rate < FLT_MIN) {
        memcpy(out, in, (size_t)(width + sparse_state(SPARSE_FTRL, width)) * sizeof *out);
        return;
    }
    for (uint32_t c = 0; c < width; c++) {
        const float g = limited(gradient[c], constants->limit);
        const float before = in[2 * width + c], n = before + g * g;
        const float sigma = (sqrtf(n) - sqrtf(before)) / constants->rate;
        const float z = (in[width + c] + g) - sigma * in[c];
        const float limit = z < 0 ? -constants->l1 : constants->l1;
        const float divisor = (constants->beta + sqrtf(n)) / constants->rate + constants->l2;
        const bool is_small = fabsf(z) <= constants->l1;
        out[width + c] = z;
        out[2 * width + c] = n;
        out[c] = is_small || divisor == 0 ? 0 : (limit - z) / divisor;
    }
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
