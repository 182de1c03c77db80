#include "kernels/optimizer.h"

#include <assert.h>
#include <math.h>

static const struct {
    const char *name;
    uint32_t arrays;
    const char *array_names[OPTIMIZER_ARRAYS_MAX];
} kinds[] = {
    [OPTIMIZER_SGD] = {"sgd", 1, {"values"}},
    [OPTIMIZER_MOMENTUM] = {"momentum", 2, {"values", "velocity"}},
    [OPTIMIZER_ADAM] = {"adam", 3, {"values", "m", "v"}},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct optimizer optimizer_of_job(const struct job *job)
{
    return (struct optimizer){
        .kind = job->train.optimizer,
        .learning_rate = job->train.learning_rate,
        .final_learning_rate = job->train.final_learning_rate,
        .decay_steps = job->train.decay_steps,
        .momentum = job->train.momentum,
        .beta1 = job->train.beta1,
        .beta2 = job->train.beta2,
        .epsilon = job->train.epsilon,
    };
}

struct optimizer optimizer_per_slice(struct optimizer optimizer, uint32_t slices)
{
    assert(slices >= 1);
    optimizer.decay_steps *= slices;
    if (optimizer.kind == OPTIMIZER_SGD) { return optimizer; }
    optimizer.learning_rate /= slices;
    optimizer.final_learning_rate /= slices;
    optimizer.momentum = 1 - (1 - optimizer.momentum) / slices;
    optimizer.beta1 = 1 - (1 - optimizer.beta1) / slices;
    optimizer.beta2 = 1 - (1 - optimizer.beta2) / slices;
    optimizer.epsilon /= slices;
    return optimizer;
}

const char *optimizer_name(enum optimizer_kind kind)
{
    assert((size_t)kind < KINDS);
    return kinds[kind].name;
}

uint32_t optimizer_arrays(enum optimizer_kind kind)
{
    assert((size_t)kind < KINDS);
    return kinds[kind].arrays;
}

const char *optimizer_array_name(enum optimizer_kind kind, uint32_t array)
{
    assert((size_t)kind < KINDS);
    assert(array < kinds[kind].arrays);
    return kinds[kind].array_names[array];
}

double optimizer_rate(const struct optimizer *optimizer, uint64_t step)
{
    if (optimizer->decay_steps == 0) { return optimizer->learning_rate; }
    if (step >= optimizer->decay_steps) { return optimizer->final_learning_rate; }
    double done = (double)step / (double)optimizer->decay_steps;
    return optimizer->learning_rate +
           (optimizer->final_learning_rate - optimizer->learning_rate) * done;
}

/* By squaring, because the last bit of libm's pow() may differ between machines. */
static double power(double base, uint64_t exponent)
{
    double result = 1;
    while (exponent > 0) {
        if (exponent % 2 == 1) { result *= base; }
        base *= base;
        exponent /= 2;
    }
    return result;
}

static struct adam_step adam_at(const struct optimizer *optimizer, uint64_t step)
{
    assert(optimizer->kind == OPTIMIZER_ADAM);
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
    for (uint32_t a = 0; a < optimizer_arrays(optimizer->kind); a++) { assert(in[a] != out[a]); }
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
