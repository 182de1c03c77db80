/* Every optimizer in plain C. The tests compare the other backends with it. */
#include <math.h>

#include "common/base/small_numbers.h"
#include "kernels/optimizer/update.h"

static float gradient_of(float x)
{
    return ZERO_IF_BELOW(SMALLEST_GRADIENT, x);
}

static float state_of(float x)
{
    return ZERO_IF_BELOW(SMALLEST_STATE, x);
}

static float limited(const struct optimizer_constants *c, float gradient)
{
    float scaled = c->scale * gradient_of(gradient);
    if (scaled > c->limit) { return c->limit; }
    if (scaled < -c->limit) { return -c->limit; }
    return scaled;
}

static float decayed(const struct optimizer_constants *c, float gradient, float value)
{
    float g = limited(c, gradient);
    if (c->decay != 0) { g += c->decay * value; }
    return g;
}

static void reference_sgd(size_t count, const struct optimizer_constants *c, const float *gradient,
                          const float *const in[static OPTIMIZER_ARRAYS_MAX],
                          float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        out[0][i] = in[0][i] - c->rate * decayed(c, gradient[i], in[0][i]);
    }
}

static void reference_momentum(size_t count, const struct optimizer_constants *c,
                               const float *gradient,
                               const float *const in[static OPTIMIZER_ARRAYS_MAX],
                               float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        out[1][i] = state_of(c->momentum * in[1][i] + decayed(c, gradient[i], in[0][i]));
        out[0][i] = in[0][i] - c->rate * out[1][i];
    }
}

static void reference_nesterov(size_t count, const struct optimizer_constants *c,
                               const float *gradient,
                               const float *const in[static OPTIMIZER_ARRAYS_MAX],
                               float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        float g = decayed(c, gradient[i], in[0][i]);
        out[1][i] = state_of(c->momentum * in[1][i] + g);
        out[0][i] = in[0][i] - c->rate * (c->momentum * out[1][i] + g);
    }
}

static void reference_adagrad(size_t count, const struct optimizer_constants *c,
                              const float *gradient,
                              const float *const in[static OPTIMIZER_ARRAYS_MAX],
                              float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        float g = decayed(c, gradient[i], in[0][i]);
        out[1][i] = in[1][i] + g * g;
        out[0][i] = in[0][i] - c->rate * g / (sqrtf(out[1][i]) + c->epsilon);
    }
}

static void reference_rmsprop(size_t count, const struct optimizer_constants *c,
                              const float *gradient,
                              const float *const in[static OPTIMIZER_ARRAYS_MAX],
                              float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        float g = decayed(c, gradient[i], in[0][i]);
        out[1][i] = state_of(c->beta2 * in[1][i] + c->one_minus_beta2 * (g * g));
        out[0][i] = in[0][i] - c->rate * g / (sqrtf(out[1][i]) + c->epsilon);
    }
}

static float first_moment(const struct optimizer_constants *c, float m, float g)
{
    return state_of(c->beta1 * m + c->one_minus_beta1 * g);
}

static float second_moment(const struct optimizer_constants *c, float v, float g)
{
    return state_of(c->beta2 * v + c->one_minus_beta2 * (g * g));
}

/* Compute element `i` of m and v; returns the change of its value. */
static float adam_change(const struct optimizer_constants *c, float g, size_t i,
                         const float *const in[static OPTIMIZER_ARRAYS_MAX],
                         float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    out[1][i] = first_moment(c, in[1][i], g);
    out[2][i] = second_moment(c, in[2][i], g);
    return c->rate * out[1][i] / (sqrtf(out[2][i]) * c->root + c->epsilon);
}

static void reference_adam(size_t count, const struct optimizer_constants *c, const float *gradient,
                           const float *const in[static OPTIMIZER_ARRAYS_MAX],
                           float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        float g = decayed(c, gradient[i], in[0][i]);
        out[0][i] = in[0][i] - adam_change(c, g, i, in, out);
    }
}

static void reference_adamw(size_t count, const struct optimizer_constants *c,
                            const float *gradient,
                            const float *const in[static OPTIMIZER_ARRAYS_MAX],
                            float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        float kept = in[0][i] - c->decay * in[0][i];
        out[0][i] = kept - adam_change(c, limited(c, gradient[i]), i, in, out);
    }
}

static void reference_lars(size_t count, const struct optimizer_constants *c, const float *gradient,
                           const float *const in[static OPTIMIZER_ARRAYS_MAX],
                           float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        out[1][i] = state_of(c->momentum * in[1][i] + c->rate * decayed(c, gradient[i], in[0][i]));
        out[0][i] = in[0][i] - out[1][i];
    }
}

void optimizer_lamb_change(size_t count, const struct optimizer_constants *c, const float *gradient,
                           const float *const in[static OPTIMIZER_ARRAYS_MAX], float *change)
{
    for (size_t i = 0; i < count; i++) {
        const float g = limited(c, gradient[i]);
        const float m = first_moment(c, in[1][i], g), v = second_moment(c, in[2][i], g);
        change[i] = m * c->correction / (sqrtf(v) * c->root + c->epsilon);
        if (c->decay != 0) { change[i] += c->decay * in[0][i]; }
    }
}

static void reference_lamb(size_t count, const struct optimizer_constants *c, const float *gradient,
                           const float *const in[static OPTIMIZER_ARRAYS_MAX],
                           float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        const float g = limited(c, gradient[i]);
        const float *const at[OPTIMIZER_ARRAYS_MAX] = {in[0] + i, in[1] + i, in[2] + i};
        float change;
        optimizer_lamb_change(1, c, gradient + i, at, &change);
        out[0][i] = in[0][i] - c->rate * change;
        out[1][i] = first_moment(c, in[1][i], g);
        out[2][i] = second_moment(c, in[2][i], g);
    }
}

static void reference_average(size_t count, const struct optimizer_constants *c, const float *mean,
                              const float *const in[static OPTIMIZER_ARRAYS_MAX],
                              float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        out[0][i] = c->beta1 * in[0][i] + c->one_minus_beta1 * mean[i];
    }
}

const struct optimizer_kernels optimizer_reference = {
    .average = reference_average,
    .update =
        {
            [OPTIMIZER_SGD] = reference_sgd,
            [OPTIMIZER_MOMENTUM] = reference_momentum,
            [OPTIMIZER_NESTEROV] = reference_nesterov,
            [OPTIMIZER_ADAGRAD] = reference_adagrad,
            [OPTIMIZER_RMSPROP] = reference_rmsprop,
            [OPTIMIZER_ADAM] = reference_adam,
            [OPTIMIZER_ADAMW] = reference_adamw,
            [OPTIMIZER_LARS] = reference_lars,
            [OPTIMIZER_LAMB] = reference_lamb,
        },
};
