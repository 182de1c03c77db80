/*
 * kernels/optimizer/update.h: the functions that apply one gradient to parameters and optimizer
 * state, one per optimizer, in one pass over the arrays.
 *
 * Every function has the same bits in every backend and on every processor: each element is
 * computed alone, by IEEE 754 operations in the order written below, without fused multiply-adds.
 *
 * With g = min(max(scale gradient, -limit), limit), and except for AdamW and LAMB g = g + decay
 * values if decay is not 0, in single precision (a' is the new value of a). The gradient and
 * velocity', m', v' and the squares' of RMSProp count as 0 if they are very small
 * (common/base/small_numbers.h):
 *
 *   sgd       values' = values - rate g
 *   momentum  velocity' = momentum velocity + g;  values' = values - rate velocity'
 *             (Polyak 1964)
 *   nesterov  velocity' = momentum velocity + g;  values' = values - rate (momentum velocity' + g)
 *             (Nesterov 1983, in the form of Sutskever et al. 2013 that is written at the point
 *             where the gradient is computed)
 *   adagrad   squares' = squares + g g;  values' = values - rate g / (sqrt(squares') + epsilon)
 *             (Duchi, Hazan, Singer 2011)
 *   rmsprop   squares' = beta2 squares + (1 - beta2) g g;
 *             values' = values - rate g / (sqrt(squares') + epsilon)
 *             (Tieleman, Hinton 2012, lecture 6.5; beta2 is the job's rho)
 *   adam      m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g g;
 *             values' = values - rate m' / (sqrt(v') root + epsilon)
 *             (Kingma, Ba 2015, algorithm 1, with rate = learning rate / (1 - beta1^t) and
 *             root = 1 / sqrt(1 - beta2^t))
 *   adamw     m' and v' as adam;
 *             values' = (values - decay values) - rate m' / (sqrt(v') root + epsilon)
 *             (Loshchilov, Hutter 2019, algorithm 2, with decay = learning rate * weight decay)
 *
 *   lars      velocity' = momentum velocity + rate g;  values' = values - velocity'
 *             (You, Gitman, Ginsburg 2017, with rate = learning rate * trust * |values| /
 *             (|gradient| + decay |values|), norms of the whole variable and of its gradient after
 *             `scale` and before `limit`; the learning rate where a norm is 0 or nothing decays)
 *
 *   lamb      m' and v' as adam; u = m' correction / (sqrt(v') root + epsilon), and u = u + decay
 *             values if decay is not 0;  values' = values - rate u
 *             (You et al. 2020, algorithm 2, with rate = learning rate * |values| / |u|, norms of
 *             the whole variable and of its u, and correction = 1 / (1 - beta1^t); the learning
 *             rate where a norm is 0 or nothing decays)
 *
 * A variable that is an average (A13) has an update of its own, without scale, limit and decay:
 *
 *   average   values' = beta1 values + (1 - beta1) g, where g is the mean that the slices emit
 *
 * A NaN stays a NaN.
 *
 * The state is updated in place or into other arrays. Values are never updated in place: those of a
 * step are sent and read while the next ones are computed.
 */
#ifndef KERNELS_OPTIMIZER_UPDATE_H
#define KERNELS_OPTIMIZER_UPDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/job.h"

enum { OPTIMIZER_ARRAYS_MAX = 4 };

/* The constants of one step for one range of parameters. */
struct optimizer_constants {
    float rate;  /* Adam's has the correction of the bias in it. */
    float scale; /* 1, or less if the gradient's norm is too large. */
    float limit; /* The greatest absolute value of a gradient; INFINITY: none. */
    float decay;
    float momentum;
    float beta1, one_minus_beta1, beta2, one_minus_beta2, root, epsilon;
    float correction; /* LAMB: that of the bias of m. */
};

/* out[a][i] from gradient[i] and in[a][i], where array 0 is the values. An array of the state may
 * be both in[a] and out[a]; otherwise no array of `out` overlaps another array. */
typedef void optimizer_kernel(size_t count, const struct optimizer_constants *constants,
                              const float *gradient,
                              const float *const in[static OPTIMIZER_ARRAYS_MAX],
                              float *const out[static OPTIMIZER_ARRAYS_MAX]);

struct sum_term; /* kernels/tree_sum.h */

/*
 * An update in one pass over memory: the gradient is added and used in pieces that stay in the
 * first-level cache, and results may go past the caches. The bits are those of sum_tree() of
 * kernels/kernels.h, then `update`.
 */
struct fused_update {
    size_t count;
    const struct optimizer_constants *constants;
    /* The gradient is gradient[at + i] or, if there are terms, the sum of element at + i of their
     * arrays. */
    size_t at;
    const float *gradient;
    uint32_t term_count;
    const struct sum_term *terms;
    /* As of `update`, but out[0] may be one of the arrays in `terms`. */
    const float *in[OPTIMIZER_ARRAYS_MAX];
    float *out[OPTIMIZER_ARRAYS_MAX];
    bool streams[OPTIMIZER_ARRAYS_MAX]; /* out[a] is written as by stream(), and not in place. */
};
typedef void optimizer_fused_kernel(const struct fused_update *update);

struct optimizer_kernels {
    optimizer_kernel *update[OPTIMIZER_KINDS];
    optimizer_fused_kernel *update_fused[OPTIMIZER_KINDS]; /* NULL: use `update`. */
    optimizer_kernel *average;                             /* May be in place. */
};

/* The change u of LAMB, of values in[0] with the state in[1] and in[2]. */
void optimizer_lamb_change(size_t count, const struct optimizer_constants *constants,
                           const float *gradient,
                           const float *const in[static OPTIMIZER_ARRAYS_MAX], float *change);

/* In plain C. */
extern const struct optimizer_kernels optimizer_reference;

#endif
