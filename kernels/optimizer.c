#include "kernels/optimizer.h"

#include <assert.h>
#include <math.h>

#include "common/base/minmax.h"
#include "kernels/optimizer/real.h"
#include "kernels/overlap.h"

#define NORM_UNKNOWN (-1.0)

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

struct optimizer optimizer_of_job(const struct job *job, const struct variable_table *variables)
{
    assert(variables != NULL && variables->count <= VARIABLES_MAX);
    struct optimizer optimizer = {
        .kind = job->train.optimizer,
        .schedule = schedule_of_job(job),
        .momentum = job->train.momentum,
        .beta1 = job->train.beta1,
        .beta2 = job->train.beta2,
        .rho = job->train.rho,
        .epsilon = job->train.epsilon,
        .weight_decay = job->train.weight_decay,
        .clip_value = job->train.clip_value,
        .clip_norm = job->train.clip_norm,
        .norm = NORM_UNKNOWN,
        .variables = variables,
    };
    for (uint32_t i = 0; i < variables->count; i++) {
        optimizer.factors[i] = variable_factors_of(job, &variables->variables[i]);
    }
    return optimizer;
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
    optimizer.clip_norm = 0;
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

/* The part of the constants that all variables have in common. */
struct pace {
    double rate;             /* The learning rate. */
    double scale;            /* The factor of the gradient. */
    double correction, root; /* For the biases of Adam's means; else 1. */
};

static struct pace pace_at(const struct optimizer *optimizer, uint64_t step)
{
    struct pace pace = {
        .rate = optimizer_rate(optimizer, step), .scale = 1, .correction = 1, .root = 1};
    assert(optimizer->clip_norm <= 0 || optimizer->norm != NORM_UNKNOWN);
    if (optimizer->clip_norm > 0 && optimizer->norm > optimizer->clip_norm) {
        pace.scale = optimizer->clip_norm / optimizer->norm;
    }
    if (optimizer->kind == OPTIMIZER_ADAM || optimizer->kind == OPTIMIZER_ADAMW) {
        pace.correction = 1 - real_power(optimizer->beta1, step + 1);
        pace.root = 1 / sqrt(1 - real_power(optimizer->beta2, step + 1));
    }
    return pace;
}

static struct optimizer_constants constants_of(const struct optimizer *optimizer, struct pace pace,
                                               struct variable_factors factors)
{
    double rate = pace.rate * factors.learning_rate;
    double decay = optimizer->weight_decay * factors.weight_decay;
    double beta2 = optimizer->kind == OPTIMIZER_RMSPROP ? optimizer->rho : optimizer->beta2;
    if (optimizer->kind == OPTIMIZER_ADAMW) { decay *= rate; }
    return (struct optimizer_constants){
        .rate = (float)(rate / pace.correction),
        .scale = (float)pace.scale,
        .limit = optimizer->clip_value > 0 ? (float)optimizer->clip_value : INFINITY,
        .decay = (float)decay,
        .momentum = (float)optimizer->momentum,
        .beta1 = (float)optimizer->beta1,
        .one_minus_beta1 = (float)(1 - optimizer->beta1),
        .beta2 = (float)beta2,
        .one_minus_beta2 = (float)(1 - beta2),
        .root = (float)pace.root,
        .epsilon = (float)optimizer->epsilon,
    };
}

/* The index of the variable that contains parameter `at`. */
static uint32_t variable_at(const struct variable_table *table, uint64_t at)
{
    assert(at < table->parameter_count);
    uint32_t low = 0, high = table->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (table->variables[middle].offset <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void check_arrays(uint32_t arrays, uint64_t count, const float *gradient,
                         const float *const in[static OPTIMIZER_ARRAYS_MAX],
                         float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (uint32_t a = 0; a < arrays; a++) {
        assert(are_disjoint(out[a], count, gradient, count));
        for (uint32_t b = 0; b < arrays; b++) {
            assert(are_disjoint(out[a], count, in[b], count));
            assert(a == b || are_disjoint(out[a], count, out[b], count));
        }
    }
}

void optimizer_apply(const struct optimizer *optimizer, const struct kernels *kernels,
                     uint64_t step, uint64_t first, uint64_t count, const float *gradient,
                     const float *const in[static OPTIMIZER_ARRAYS_MAX],
                     float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    const struct variable_table *table = optimizer->variables;
    const uint32_t arrays = optimizer_arrays(optimizer->kind);
    assert(first + count <= table->parameter_count);
    check_arrays(arrays, count, gradient, in, out);
    struct pace pace = pace_at(optimizer, step);
    uint32_t v = count > 0 ? variable_at(table, first) : 0;
    for (uint64_t from = 0, to; from < count; from = to, v++) {
        const struct variable *variable = &table->variables[v];
        struct optimizer_constants constants = constants_of(optimizer, pace, optimizer->factors[v]);
        const float *old[OPTIMIZER_ARRAYS_MAX] = {NULL};
        float *new[OPTIMIZER_ARRAYS_MAX] = {NULL};
        to = u64_min(count, variable->offset + variable->count - first);
        for (uint32_t a = 0; a < arrays; a++) { old[a] = in[a] + from, new[a] = out[a] + from; }
        kernels->optimizers->update[optimizer->kind](to - from, &constants, gradient + from, old,
                                                     new);
    }
}
