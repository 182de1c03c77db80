#include "kernels/optimizer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/base/minmax.h"
#include "kernels/optimizer/real.h"
#include "kernels/overlap.h"

#define NORM_UNKNOWN (-1.0)

enum { TILE = 4096 /* Floats. */ };

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
    [OPTIMIZER_LARS] = {2, {"values", "velocity"}, RATE_BY_SLICES},
    [OPTIMIZER_LAMB] = {3, {"values", "m", "v"}, RATE_BY_SLICES},
};

struct optimizer optimizer_of_job(const struct job *job, const struct variable_table *variables)
{
    assert(variables != NULL && variables->count <= VARIABLES_MAX);
    struct optimizer optimizer = {
        .kind = job->train.optimizer,
        .arrays = 1,
        .slices = 1,
        .schedule = schedule_of_job(job),
        .momentum = job->train.momentum,
        .beta1 = job->train.beta1,
        .beta2 = job->train.beta2,
        .rho = job->train.rho,
        .epsilon = job->train.epsilon,
        .weight_decay = job->train.weight_decay,
        .clip_value = job->train.clip_value,
        .clip_norm = job->train.clip_norm,
        .ema = job->train.ema,
        .trust = job->train.trust,
        .norm = NORM_UNKNOWN,
        .variables = variables,
    };
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct variable_rule rule = variable_rule_of(job, &variables->variables[i]);
        optimizer.rules[i] = rule;
        if (rule.update == VARIABLE_AVERAGED) { continue; }
        optimizer.arrays = u32_max(optimizer.arrays, optimizer_arrays(rule.optimizer));
    }
    if (optimizer.ema > 0) { optimizer.arrays++; }
    assert(optimizer.arrays <= OPTIMIZER_ARRAYS_MAX);
    return optimizer;
}

bool optimizer_needs_norms(const struct optimizer *optimizer)
{
    bool needed = optimizer->clip_norm > 0;
    for (uint32_t v = 0; v < optimizer->variables->count; v++) {
        needed |= optimizer->rules[v].adapts;
    }
    return needed;
}

bool optimizer_norms_need_state(const struct optimizer *optimizer)
{
    bool found = false;
    for (uint32_t v = 0; v < optimizer->variables->count; v++) {
        const struct variable_rule *rule = &optimizer->rules[v];
        found |= rule->adapts && rule->optimizer == OPTIMIZER_LAMB;
    }
    return found;
}

bool optimizer_has_average(const struct optimizer *optimizer)
{
    return optimizer->ema > 0;
}

void optimizer_begin(const struct optimizer *optimizer, uint64_t count,
                     float *const arrays[static OPTIMIZER_ARRAYS_MAX])
{
    for (uint32_t a = 1; a < optimizer->arrays; a++) {
        memset(arrays[a], 0, count * sizeof *arrays[a]);
    }
    if (!optimizer_has_average(optimizer)) { return; }
    memcpy(arrays[optimizer->arrays - 1], arrays[0], count * sizeof *arrays[0]);
}

struct optimizer optimizer_per_slice(struct optimizer optimizer, uint32_t slices)
{
    assert(slices >= 1);
    optimizer.slices = slices;
    optimizer.schedule = schedule_stretch(optimizer.schedule, slices, 1);
    optimizer.clip_norm = 0;
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

/* The share of the past that makes a mean reach back `slices` times as many updates. */
static double reach(double kept, uint32_t slices)
{
    return slices == 1 ? kept : 1 - (1 - kept) / slices;
}

static double divisor_of(enum optimizer_kind kind, uint32_t slices)
{
    switch (kinds[kind].scaling) {
    case RATE_STAYS: break;
    case RATE_BY_ROOT: return sqrt(slices);
    case RATE_BY_SLICES: return slices;
    }
    return 1;
}

static float scale_of(const struct optimizer *optimizer)
{
    assert(optimizer->clip_norm <= 0 || optimizer->norm != NORM_UNKNOWN);
    bool exceeds = optimizer->clip_norm > 0 && optimizer->norm > optimizer->clip_norm;
    return exceeds ? (float)(optimizer->clip_norm / optimizer->norm) : 1;
}

/* The factor by which LARS and LAMB adapt the rate of a variable. */
static double trust_of(const struct optimizer *optimizer, uint32_t variable, double decay)
{
    const struct variable_norms *norms = &optimizer->norms[variable];
    if (!optimizer->rules[variable].adapts || norms->values <= 0 || norms->gradient <= 0) {
        return 1;
    }
    if (optimizer->rules[variable].optimizer == OPTIMIZER_LAMB) {
        return norms->values / norms->gradient;
    }
    const double gradient = (double)scale_of(optimizer) * norms->gradient;
    return optimizer->trust * norms->values / (gradient + decay * norms->values);
}

static struct optimizer_constants constants_of(const struct optimizer *optimizer, uint64_t step,
                                               uint32_t variable)
{
    const struct variable_rule *rule = &optimizer->rules[variable];
    const enum optimizer_kind kind = rule->optimizer;
    const uint32_t slices = optimizer->slices;
    const bool lamb = kind == OPTIMIZER_LAMB;
    const bool adam = kind == OPTIMIZER_ADAM || kind == OPTIMIZER_ADAMW || lamb;
    double divisor = divisor_of(kind, slices);
    double rate = optimizer_rate(optimizer, step) / divisor * rule->learning_rate;
    double decay = optimizer->weight_decay * rule->weight_decay;
    double beta1 = reach(optimizer->beta1, slices);
    double beta2 = reach(kind == OPTIMIZER_RMSPROP ? optimizer->rho : optimizer->beta2, slices);
    double correction = adam ? 1 - real_power(beta1, step + 1) : 1;
    double root = adam ? 1 / sqrt(1 - real_power(beta2, step + 1)) : 1;
    if (kind == OPTIMIZER_ADAMW) {
        decay *= rate;
    } else {
        decay /= slices;
    }
    rate *= trust_of(optimizer, variable, decay);
    return (struct optimizer_constants){
        .rate = (float)(lamb ? rate : rate / correction),
        .correction = (float)(1 / correction),
        .scale = scale_of(optimizer),
        .limit = optimizer->clip_value > 0 ? (float)(optimizer->clip_value / slices) : INFINITY,
        .decay = (float)decay,
        .momentum = (float)reach(optimizer->momentum, slices),
        .beta1 = (float)beta1,
        .one_minus_beta1 = (float)(1 - beta1),
        .beta2 = (float)beta2,
        .one_minus_beta2 = (float)(1 - beta2),
        .root = (float)root,
        .epsilon = (float)(optimizer->epsilon / divisor),
    };
}

/* In async mode a slice emits a V-th of its moments, and counts for a V-th of a step. */
static struct optimizer_constants average_constants(const struct optimizer *optimizer,
                                                    const struct variable_rule *rule)
{
    return (struct optimizer_constants){
        .beta1 = (float)reach(rule->momentum, optimizer->slices),
        .one_minus_beta1 = (float)(1 - rule->momentum),
    };
}

struct optimizer_constants optimizer_moving_average(const struct optimizer *optimizer)
{
    assert(optimizer_has_average(optimizer));
    const double kept = reach(optimizer->ema, optimizer->slices);
    return (struct optimizer_constants){.beta1 = (float)kept, .one_minus_beta1 = (float)(1 - kept)};
}

static void update_average(const struct optimizer *optimizer, const struct kernels *kernels,
                           uint64_t count, const float *values, const float *in, float *out)
{
    const struct optimizer_constants constants = optimizer_moving_average(optimizer);
    const float *const from[OPTIMIZER_ARRAYS_MAX] = {in};
    float *const to[OPTIMIZER_ARRAYS_MAX] = {out};
    kernels->optimizers->average(count, &constants, values, from, to);
}

uint32_t optimizer_variable_at(const struct variable_table *table, uint64_t at)
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

struct optimizer_part optimizer_part_at(const struct optimizer *optimizer, uint64_t step,
                                        uint64_t at, uint64_t end)
{
    assert(at < end && end <= optimizer->variables->parameter_count);
    const uint32_t v = optimizer_variable_at(optimizer->variables, at);
    const struct variable *variable = &optimizer->variables->variables[v];
    const struct variable_rule *rule = &optimizer->rules[v];
    const bool averaged = rule->update == VARIABLE_AVERAGED;
    return (struct optimizer_part){
        .count = u64_min(end, variable->offset + variable->count) - at,
        .averaged = averaged,
        .kind = rule->optimizer,
        .arrays = averaged ? 1 : optimizer_arrays(rule->optimizer),
        .constants =
            averaged ? average_constants(optimizer, rule) : constants_of(optimizer, step, v),
    };
}

/* The arrays from element `at` on. */
static void offset_arrays(uint32_t arrays, uint64_t at,
                          const float *const in[static OPTIMIZER_ARRAYS_MAX],
                          float *const out[static OPTIMIZER_ARRAYS_MAX],
                          const float *old[static OPTIMIZER_ARRAYS_MAX],
                          float *new[static OPTIMIZER_ARRAYS_MAX])
{
    assert(arrays <= OPTIMIZER_ARRAYS_MAX);
    for (uint32_t a = 0; a < arrays; a++) {
        old[a] = in[a] + at;
        new[a] = out[a] + at;
    }
}

static void check_arrays(uint32_t arrays, uint64_t count, const float *gradient,
                         const float *const in[static OPTIMIZER_ARRAYS_MAX],
                         float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    for (uint32_t a = 0; a < arrays; a++) {
        assert(are_disjoint(out[a], count, gradient, count));
        for (uint32_t b = 0; b < arrays; b++) {
            assert((a == b && a > 0 && out[a] == in[a]) ||
                   are_disjoint(out[a], count, in[b], count));
            assert(a == b || are_disjoint(out[a], count, out[b], count));
        }
    }
}

/* In tiles that stay in the cache between the passes over them. */
void optimizer_apply_part(const struct optimizer *optimizer, const struct kernels *kernels,
                          const struct optimizer_part *part, const float *gradient,
                          const float *const in[static OPTIMIZER_ARRAYS_MAX],
                          float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    optimizer_kernel *kernel =
        part->averaged ? kernels->optimizers->average : kernels->optimizers->update[part->kind];
    const uint32_t states = optimizer->arrays - optimizer_has_average(optimizer);
    for (uint64_t at = 0, size; at < part->count; at += size) {
        const float *old[OPTIMIZER_ARRAYS_MAX] = {NULL};
        float *new[OPTIMIZER_ARRAYS_MAX] = {NULL};
        size = u64_min(part->count - at, TILE);
        offset_arrays(optimizer->arrays, at, in, out, old, new);
        kernel(size, &part->constants, gradient + at, old, new);
        for (uint32_t a = part->arrays; a < states; a++) {
            if (new[a] != old[a]) { memcpy(new[a], old[a], size * sizeof(float)); }
        }
        if (states == optimizer->arrays) { continue; }
        update_average(optimizer, kernels, size, new[0], old[states], new[states]);
    }
}

void optimizer_change(const struct optimizer *optimizer, uint64_t step, uint32_t variable,
                      uint64_t count, const float *gradient,
                      const float *const in[static OPTIMIZER_ARRAYS_MAX], float *out)
{
    assert(optimizer->rules[variable].optimizer == OPTIMIZER_LAMB);
    const struct optimizer_constants constants = constants_of(optimizer, step, variable);
    optimizer_lamb_change(count, &constants, gradient, in, out);
}

void optimizer_apply(const struct optimizer *optimizer, const struct kernels *kernels,
                     uint64_t step, uint64_t first, uint64_t count, const float *gradient,
                     const float *const in[static OPTIMIZER_ARRAYS_MAX],
                     float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    assert(first + count <= optimizer->variables->parameter_count);
    check_arrays(optimizer->arrays, count, gradient, in, out);
    for (uint64_t from = 0; from < count;) {
        const struct optimizer_part part =
            optimizer_part_at(optimizer, step, first + from, first + count);
        const float *old[OPTIMIZER_ARRAYS_MAX] = {NULL};
        float *new[OPTIMIZER_ARRAYS_MAX] = {NULL};
        offset_arrays(optimizer->arrays, from, in, out, old, new);
        optimizer_apply_part(optimizer, kernels, &part, gradient + from, old, new);
        from += part.count;
    }
}

/* ------------------------------------------------------------------- norms */

/* A copy of `count` elements from `first` on, with zeros for the averages. */
static void copy_gradient(const struct variable_table *table, uint64_t first, uint64_t count,
                          const float *gradient, float *out)
{
    assert(count > 0);
    memcpy(out, gradient, count * sizeof *out);
    for (uint32_t v = optimizer_variable_at(table, first); v < table->count; v++) {
        const struct variable *variable = &table->variables[v];
        if (variable->offset >= first + count) { return; }
        if (variable->update != VARIABLE_AVERAGED) { continue; }
        uint64_t from = u64_max(variable->offset, first) - first;
        uint64_t to = u64_min(variable->offset + variable->count - first, count);
        memset(out + from, 0, (to - from) * sizeof *out);
    }
}

void optimizer_add_norm(const struct variable_table *variables, uint64_t first, uint64_t count,
                        const float *gradient, struct norm_part *part)
{
    enum { PIECE = 64 * NORM_LEAF };
    assert(first == part->end * NORM_LEAF && first + count <= variables->parameter_count);
    for (uint64_t at = 0; at < count; at += PIECE) {
        float piece[PIECE];
        uint64_t size = u64_min(count - at, PIECE);
        copy_gradient(variables, first + at, size, gradient + at, piece);
        norm_add(part, size, piece);
    }
}

void optimizer_scale(const struct variable_table *variables, const struct kernels *kernels,
                     float factor, float *gradient)
{
    for (uint32_t v = 0; v < variables->count; v++) {
        const struct variable *variable = &variables->variables[v];
        if (variable->update == VARIABLE_AVERAGED) { continue; }
        kernels->scale(variable->count, factor, gradient + variable->offset);
    }
}
