/*
 * kernels/optimizer.h: SGD, momentum and Adam behind one call, for whoever owns a shard.
 *
 * An optimizer keeps a fixed number of arrays a parameter: array 0 is the values, the others its
 * state (momentum: velocity; Adam: m, v), which start as zeros. A step is a pure function of
 * (step number, gradient, old arrays), element by element: a shard may be cut anywhere.
 *
 * Threads: any, on arrays of their own.
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
    /* With decay_steps > 0 the rate falls in a line from learning_rate at step 0 to
     * final_learning_rate at step decay_steps, and stays there. */
    double final_learning_rate;
    uint64_t decay_steps;
    double momentum;              /* Momentum only. */
    double beta1, beta2, epsilon; /* Adam only. */
};

/* The optimizer a checked job asks for. */
struct optimizer optimizer_of_job(const struct job *job);

const char *optimizer_name(enum optimizer_kind kind);

/* Arrays a parameter, with the values: 1, 2 or 3. And their names: "values", "velocity", "m", "v".
 */
uint32_t optimizer_arrays(enum optimizer_kind kind);
const char *optimizer_array_name(enum optimizer_kind kind, uint32_t array);

/* The learning rate of the update that makes step + 1 out of `step`. */
double optimizer_rate(const struct optimizer *optimizer, uint64_t step);

/* out[a][i] of step + 1 from gradient[i] and in[a][i] of `step`. No array of `out` overlaps one of
 * `in`. */
void optimizer_apply(const struct optimizer *optimizer, const struct kernels *kernels,
                     uint64_t step, uint64_t count, const float *gradient,
                     const float *const in[static OPTIMIZER_ARRAYS_MAX],
                     float *const out[static OPTIMIZER_ARRAYS_MAX]);

#endif
