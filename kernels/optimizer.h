/*
 * kernels/optimizer.h: all optimizers behind one call. kernels/optimizer/update.h has their
 * formulas, kernels/optimizer/schedule.h those of the learning rate.
 *
 * An optimizer has a fixed number of arrays of one float per parameter: array 0 is the values, the
 * others are its state (momentum and Nesterov: velocity; Adagrad and RMSProp: squares; Adam and
 * AdamW, LAMB: m, v) and start as zeros. Variables may have different optimizers: then the number
 * of arrays is the largest that any of them has, and an update keeps the arrays that it does not
 * use. With an `ema` one more array, the last, is a moving average of the values. An update is a
 * pure function of (step number, gradient, old arrays, variable), element by element, so the
 * parameters can be divided into shards anywhere.
 *
 * Threads: any, each on its own arrays.
 */
#ifndef KERNELS_OPTIMIZER_H
#define KERNELS_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/job/variable_rules.h"
#include "kernels/kernels.h"
#include "kernels/optimizer/norm.h"
#include "kernels/optimizer/schedule.h"

struct optimizer {
    enum optimizer_kind kind; /* The job's. */
    uint32_t arrays;          /* Their number, including the values. */
    uint32_t slices;          /* Async: that make up the effect of one update; else 1. */
    struct schedule schedule;
    double momentum;     /* Momentum, Nesterov. */
    double beta1, beta2; /* Adam, AdamW, LAMB. */
    double rho;          /* RMSProp. */
    double epsilon;      /* Adagrad, RMSProp, Adam, AdamW, LAMB. */
    double weight_decay; /* 0: none. */
    double clip_value;   /* 0: none. */
    double clip_norm;    /* 0: none. */
    double ema;          /* The part of the moving average that an update keeps; 0: none. */
    double trust;        /* LARS. */
    /* For the next update: the norm of the whole gradient, if clip_norm is not 0, and the norms of
     * variables that adapt. The owner sets them (kernels/measurement.h). */
    double norm;
    struct variable_norms {
        double values, gradient; /* LAMB: `gradient` is that of the change u. */
    } norms[VARIABLES_MAX];
    const struct variable_table *variables;
    struct variable_rule rules[VARIABLES_MAX]; /* By variable. */
};

/* The optimizer of a job that was checked. `variables` outlive it. */
struct optimizer optimizer_of_job(const struct job *job, const struct variable_table *variables);

/*
 * For async mode, where the gradient of each of the V = `slices` slices is an update of its own:
 * the optimizer of which V such updates have the effect of one update of `optimizer` by their sum,
 * if they are equal. The schedule has V times as many steps. Means over past updates (momentum, the
 * betas, rho) reach back V times as many, and then the rate is divided by V; Adagrad's squares add
 * up to a V-th of the sum's, so its rate is divided by sqrt(V). Gradients are a V-th: so are their
 * limit, epsilon (Adagrad: a sqrt(V)-th), and the weight decay that is added to them. The norm is
 * not limited: the worker that computes a slice has done so (worker/compute.h).
 */
struct optimizer optimizer_per_slice(struct optimizer optimizer, uint32_t slices);

/* Number of arrays, including the values: 1, 2 or 3. And their names: "values", "velocity",
 * "squares", "m", "v". */
uint32_t optimizer_arrays(enum optimizer_kind kind);
const char *optimizer_array_name(enum optimizer_kind kind, uint32_t array);

/* The index of the variable that contains parameter `at`. */
uint32_t optimizer_variable_at(const struct variable_table *variables, uint64_t at);

/* Add elements [first, first + count) of a gradient to a part of its norm that ends at `first`.
 * Averages count as zeros, because they emit means instead of gradients. */
void optimizer_add_norm(const struct variable_table *variables, uint64_t first, uint64_t count,
                        const float *gradient, struct norm_part *part);
/* Multiply a whole gradient, but for the averages. Exact. */
void optimizer_scale(const struct variable_table *variables, const struct kernels *kernels,
                     float factor, float *gradient);

/* Whether an update needs norms. */
bool optimizer_needs_norms(const struct optimizer *optimizer);

/* Whether these norms depend on the state: LAMB takes the norm of the change. */
bool optimizer_norms_need_state(const struct optimizer *optimizer);

/* Whether the last array is a moving average of the values, which evaluations use. */
bool optimizer_has_average(const struct optimizer *optimizer);
/* Fill all arrays but the values, which are initial ones. */
void optimizer_begin(const struct optimizer *optimizer, uint64_t count,
                     float *const arrays[static OPTIMIZER_ARRAYS_MAX]);

/* The learning rate of the update from `step` to step + 1. */
double optimizer_rate(const struct optimizer *optimizer, uint64_t step);

/* The change u of LAMB for `count` elements of a variable, which begin at in[a]; kernels/optimizer/
 * update.h. */
void optimizer_change(const struct optimizer *optimizer, uint64_t step, uint32_t variable,
                      uint64_t count, const float *gradient,
                      const float *const in[static OPTIMIZER_ARRAYS_MAX], float *out);

/* A part of an update: elements of one variable, which one kernel updates. */
struct optimizer_part {
    uint64_t count; /* At least 1. */
    bool averaged;  /* By `average` of struct optimizer_kernels; otherwise by `update` of `kind`. */
    enum optimizer_kind kind;
    uint32_t arrays; /* That the kernel updates; those behind them stay as they are. */
    struct optimizer_constants constants;
};

/* The part of the update from `step` to step + 1 that begins with parameter `at` and ends with its
 * variable, or before parameter `end`. A moving average is updated after it. */
struct optimizer_part optimizer_part_at(const struct optimizer *optimizer, uint64_t step,
                                        uint64_t at, uint64_t end);
/* For `average`, which updates the moving average by the new values, if there is one. */
struct optimizer_constants optimizer_moving_average(const struct optimizer *optimizer);

/* Update the elements of a part, as optimizer_apply() does with each, which checks the arrays. */
void optimizer_apply_part(const struct optimizer *optimizer, const struct kernels *kernels,
                          const struct optimizer_part *part, const float *gradient,
                          const float *const in[static OPTIMIZER_ARRAYS_MAX],
                          float *const out[static OPTIMIZER_ARRAYS_MAX]);

/* out[a][i] of step + 1 from gradient[i] and in[a][i] of `step`, where element 0 is parameter
 * `first` of the flat vector. The state, arrays 1 and above, may be updated in place: out[a] is
 * in[a]. Otherwise no array of `out` overlaps another array. */
void optimizer_apply(const struct optimizer *optimizer, const struct kernels *kernels,
                     uint64_t step, uint64_t first, uint64_t count, const float *gradient,
                     const float *const in[static OPTIMIZER_ARRAYS_MAX],
                     float *const out[static OPTIMIZER_ARRAYS_MAX]);

#endif
