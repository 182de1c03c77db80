#include "kernels/optimizer.h"

#include <assert.h>
#include <math.h>

#include "kernels/optimizer/real.h"
#include "kernels/overlap.h"

/* The divisor of the rate in async mode, by the effect of V equal gradients. */
enum scaling { RATE_STAYS, RATE_BY_ROOT, RATE_BY_SLICES };

static const struct {
    uint32_t arrays;
    const char *array_names[OPTIMIZER_ARRAYS_MAX];
    enum scaling scaling;
} kinds[OPTIMIZER_KINDS] = {
    [OPTIMIZER_SGD] = {1, {"values"}, RATE_STAYS},
    [OPTIMIZER_MOMENTUM] = {2, {"values", "velocity"}, RATE_BY_SLICES},
    [OPTIMIZER_NESTEROV] = {2, {"values", "velocity"}, RATE_BY_SLICES},
    [OPTIMIZER_ADAGRAD] = {2, {"values", "squares"}, RATE_BY_ROOT},
    [OPTIMIZER_RMSPROP] = {2, {"values", "squares"}, RATE_BY_SLICES},
    [OPTIMIZER_ADAM] = {3, {"values", "m", "v"}, RATE_BY_SLICES},
    [OPTIMIZER_ADAMW] = {3, {"values", "m", "v"}, RATE_BY_SLICES},
};

struct optimizer optimizer_of_job(const struct job *job)
{
    return (struct optimizer){
        .kind = job->train.optimizer,
        .schedule = schedule_of_job(job),
        .momentum = job->train.momentum,
        .beta1 = job->train.beta1,
        .beta2 = job->train.beta2,
        .rho = job->train.rho,
        .epsilon = job->train.epsilon,
        .weight_decay = job->train.weight_decay,
        .clip_value = job->train.clip_value,
    };
}

/* The share of the past that makes a mean reach back `slices` times as many updates. */
static double reach(double kept, uint32_t slices)
{
    return 1 - (1 - kept) / slices;
}

struct optimizer optimizer_per_slice(struct optimizer optimizer, uint32_t slices)
{
    assert(slices >= 1);
    assert(optimizer.kind < OPTIMIZER_KINDS);
    const double divisors[] = {
        [RATE_STAYS] = 1, [RATE_BY_ROOT] = sqrt(slices), [RATE_BY_SLICES] = slices};
    double divisor = divisors[kinds[optimizer.kind].scaling];
    optimizer.schedule = schedule_stretch(optimizer.schedule, slices, divisor);
    optimizer.momentum = reach(optimizer.momentum, slices);
    optimizer.beta1 = reach(optimizer.beta1, slices);
    optimizer.beta2 = reach(optimizer.beta2, slices);
    optimizer.rho = reach(optimizer.rho, slices);
    optimizer.epsilon /= divisor;
    optimizer.clip_value /= slices;
    if (optimizer.kind != OPTIMIZER_ADAMW) { optimizer.weight_decay /= slices; }
    return optimizer;
}

uint32_t optimizer_arrays(enum optimizer_kind kind)
{
    assert(kind < OPTIMIZER_KINDS);
    return kinds[kind].arrays;
}

const char *optimizer_array_name(enum optimizer_kind kind, uint32_t array)
{
    assert(kind < OPTIMIZER_KINDS);
    assert(array < kinds[kind].arrays);
    return kinds[kind].array_names[array];
}

double optimizer_rate(const struct optimizer *optimizer, uint64_t step)
{
    return schedule_rate(&optimizer->schedule, step);
}

static struct optimizer_constants constants_at(const struct optimizer *optimizer, uint64_t step)
{
    double rate = optimizer_rate(optimizer, step), root = 1, beta2 = optimizer->beta2;
    double decay = optimizer->weight_decay;
    if (optimizer->kind == OPTIMIZER_ADAMW) { decay *= rate; }
    if (optimizer->kind == OPTIMIZER_RMSPROP) { beta2 = optimizer->rho; }
    if (optimizer->kind == OPTIMIZER_ADAM || optimizer->kind == OPTIMIZER_ADAMW) {
        rate /= 1 - real_power(optimizer->beta1, step + 1);
        root = 1 / sqrt(1 - real_power(beta2, step + 1));
    }
    return (struct optimizer_constants){
        .rate = (float)rate,
        .limit = optimizer->clip_value > 0 ? (float)optimizer->clip_value : INFINITY,
        .decay = (float)decay,
        .momentum = (float)optimizer->momentum,
        .beta1 = (float)optimizer->beta1,
        .one_minus_beta1 = (float)(1 - optimizer->beta1),
        .beta2 = (float)beta2,
        .one_minus_beta2 = (float)(1 - beta2),
        .root = (float)root,
        .epsilon = (float)optimizer->epsilon,
    };
}

void optimizer_apply(const struct optimizer *optimizer, const struct kernels *kernels,
                     uint64_t step, uint64_t count, const float *gradient,
                     const float *const in[static OPTIMIZER_ARRAYS_MAX],
                     float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    uint32_t arrays = optimizer_arrays(optimizer->kind);
    for (uint32_t a = 0; a < arrays; a++) {
        assert(are_disjoint(out[a], count, gradient, count));
        for (uint32_t b = 0; b < arrays; b++) {
            assert(are_disjoint(out[a], count, in[b], count));
            assert(a == b || are_disjoint(out[a], count, out[b], count));
        }
    }
    struct optimizer_constants constants = constants_at(optimizer, step);
    kernels->optimizers->update[optimizer->kind](count, &constants, gradient, in, out);
}
