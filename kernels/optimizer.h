/*
 * kernels/optimizer.h: SGD, momentum and Adam behind one call.
 *
 * An optimizer has a fixed number of arrays of one float per parameter: array 0 is the values, the
 * others are its state (momentum: velocity; Adam: m, v) and start as zeros. An update is a pure
 * function of (step number, gradient, old arrays), element by element, so the parameters can be
 * divided into shards anywhere.
 *
 * Threads: any, each on its own arrays.
 */
#ifndef KERNELS_OPTIMIZER_H
#define KERNELS_OPTIMIZER_H

#include <stdint.h>

#include "common/cluster/job.h"
#include "kernels/kernels.h"

enum { OPTIMIZER_ARRAYS_MAX = 3 };

struct optimizer {
    enum optimizer_kind kind;
    double learning_rate;
    /* With decay_steps > 0 the rate falls linearly from learning_rate at step 0 to
     * final_learning_rate at step decay_steps, and stays there. */
    double final_learning_rate;
    uint64_t decay_steps;
    double momentum;              /* Momentum only. */
    double beta1, beta2, epsilon; /* Adam only. */
};

/* The optimizer of a job that was checked. */
struct optimizer optimizer_of_job(const struct job *job);

/*
 * For async mode, where the gradient of each of the `slices` slices is an update of its own: the
 * optimizer of which `slices` such updates have the effect of one update of `optimizer` by their
 * sum. Means over past updates (momentum, Adam) reach back `slices` times as many, and where the
 * rate multiplies such a mean it is divided by `slices`.
 */
struct optimizer optimizer_per_slice(struct optimizer optimizer, uint32_t slices);

const char *optimizer_name(enum optimizer_kind kind);

/* Number of arrays, including the values: 1, 2 or 3. And their names: "values", "velocity", "m",
 * "v". */
uint32_t optimizer_arrays(enum optimizer_kind kind);
const char *optimizer_array_name(enum optimizer_kind kind, uint32_t array);

/* The learning rate of the update from `step` to step + 1. */
double optimizer_rate(const struct optimizer *optimizer, uint64_t step);

/* out[a][i] of step + 1 from gradient[i] and in[a][i] of `step`. No array of `out` overlaps one of
 * `in`. */
void optimizer_apply(const struct optimizer *optimizer, const struct kernels *kernels,
                     uint64_t step, uint64_t count, const float *gradient,
                     const float *const in[static OPTIMIZER_ARRAYS_MAX],
                     float *const out[static OPTIMIZER_ARRAYS_MAX]);

#endif
