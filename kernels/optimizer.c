#include "kernels/optimizer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t arrays;
    const char *array_names[OPTIMIZER_ARRAYS_MAX];
    double learning_rate;
} kinds[] = {
    [OPTIMIZER_SGD] = {"sgd", 1, {"values"}, 0.01},
    [OPTIMIZER_MOMENTUM] = {"momentum", 2, {"values", "velocity"}, 0.01},
    [OPTIMIZER_ADAM] = {"adam", 3, {"values", "m", "v"}, 0.001},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

enum tn_status optimizer_find(const char *name, struct optimizer *out, struct error *error)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (strcmp(kinds[kind].name, name) != 0) continue;
        *out = (struct optimizer){
            .kind = (enum optimizer_kind)kind,
            .learning_rate = kinds[kind].learning_rate,
            .momentum = 0.9,
            .beta1 = 0.9,
            .beta2 = 0.999,
            .epsilon = 1e-8,
        };
        return TN_OK;
    }
    return error_set(error, TN_EINVAL, "unknown optimizer.type '%s': one of sgd, momentum, adam",
                     name);
}

const char *optimizer_name(enum optimizer_kind kind)
{
    return kinds[kind].name;
}

uint32_t optimizer_arrays(enum optimizer_kind kind)
{
    return kinds[kind].arrays;
}

const char *optimizer_array_name(enum optimizer_kind kind, uint32_t array)
{
    assert(array < kinds[kind].arrays);
    return kinds[kind].array_names[array];
}

enum tn_status optimizer_check(const struct optimizer *optimizer, struct error *error)
{
    const struct {
        const char *name;
        double value, least, below;
    } ranges[] = {
        {"learning_rate", optimizer->learning_rate, 0, 1e9},
        {"final_learning_rate", optimizer->final_learning_rate, 0, 1e9},
        {"momentum", optimizer->momentum, 0, 1},
        {"beta1", optimizer->beta1, 0, 1},
        {"beta2", optimizer->beta2, 0, 1},
        {"epsilon", optimizer->epsilon, 1e-30, 1e9},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        bool good = ranges[i].value >= ranges[i].least && ranges[i].value < ranges[i].below;
        if (!good)
            return error_set(error, TN_EINVAL,
                             "optimizer.%s is %g: give a number from %g and below %g",
                             ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].below);
    }
    return TN_OK;
}

double optimizer_rate(const struct optimizer *optimizer, uint64_t step)
{
    if (optimizer->decay_steps == 0) return optimizer->learning_rate;
    if (step >= optimizer->decay_steps) return optimizer->final_learning_rate;
    double done = (double)step / (double)optimizer->decay_steps;
    return optimizer->learning_rate +
           (optimizer->final_learning_rate - optimizer->learning_rate) * done;
}

/* By squaring: libm's pow may differ between machines in its last bit. */
static double power(double base, uint64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2 == 1) result *= base;
    return result;
}

static struct adam_step adam_at(const struct optimizer *optimizer, uint64_t step)
{
    double correction1 = 1 - power(optimizer->beta1, step + 1);
    double correction2 = 1 - power(optimizer->beta2, step + 1);
    return (struct adam_step){
        .rate = (float)(optimizer_rate(optimizer, step) / correction1),
        .beta1 = (float)optimizer->beta1,
        .one_minus_beta1 = (float)(1 - optimizer->beta1),
        .beta2 = (float)optimizer->beta2,
        .one_minus_beta2 = (float)(1 - optimizer->beta2),
        .root = (float)(1 / sqrt(correction2)),
        .epsilon = (float)optimizer->epsilon,
    };
}

void optimizer_apply(const struct optimizer *optimizer, const struct kernels *kernels,
                     uint64_t step, uint64_t count, const float *gradient,
                     const float *const in[static OPTIMIZER_ARRAYS_MAX],
                     float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    float rate = (float)optimizer_rate(optimizer, step);
    switch (optimizer->kind) {
    case OPTIMIZER_SGD: kernels->sgd(count, rate, gradient, in[0], out[0]); break;
    case OPTIMIZER_MOMENTUM:
        kernels->momentum(count, rate, (float)optimizer->momentum, gradient, in[0], in[1], out[0],
                          out[1]);
        break;
    case OPTIMIZER_ADAM: {
        struct adam_step adam = adam_at(optimizer, step);
        kernels->adam(count, &adam, gradient, in[0], in[1], in[2], out[0], out[1], out[2]);
        break;
    }
    }
}
