/*
 * worker/compute.h: the arithmetic of a worker: gradients of slices summed over the tree, the loss
 * of the last steps, evaluation, and the digest of all parameters.
 *
 * A node's sum is a pure function of (seed, step, node, values): whoever computes it gets the same
 * bits. Partial sums live in buffers of the pool, one a level of the tree.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef WORKER_COMPUTE_H
#define WORKER_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/cluster/job.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "worker/dataset.h"
#include "worker/models/model.h"

enum {
    COMPUTE_LEVELS_MAX = 10,   /* Of the tree over SLICES_MAX slices, and one. */
    COMPUTE_RECENT_STEPS = 50, /* That the training loss is averaged over. */
};

/* All outlive the compute; pool's memory is used. `test` may be NULL: nothing is evaluated. */
struct compute_config {
    const struct job *job;
    const struct model *model; /* Its examples_max is at least compute_slice_examples(job). */
    const struct dataset *train, *test;
    struct buffer_pool *pool;
};

struct compute {
    struct compute_config config;
    uint64_t parameters;
    uint32_t slice_examples;
    struct batch batch;
    uint32_t *indices;
    struct buffer *levels[COMPUTE_LEVELS_MAX]; /* Partial sums; NULL until needed. */
    double target_spread; /* Regression: squared deviations of the test targets from their mean. */
    /* Ring of the last steps' own losses. */
    struct {
        double loss_sum;
        uint64_t examples;
    } recent[COMPUTE_RECENT_STEPS];
    uint64_t recent_step; /* Of the newest entry. */
    uint32_t recent_count;
};

/* The most examples of a slice: what a model must be opened for. */
uint32_t compute_slice_examples(const struct job *job);

/* TN_EINVAL: the model is too small for the slices. TN_ENOMEM. Nothing is owned then. */
MUST_CHECK enum tn_status compute_open(struct compute *compute, const struct compute_config *config,
                                       struct error *error);
void compute_close(struct compute *compute); /* One of zeros is allowed. */

/* The sum of the gradients of the slices of `node` at `step`: `parameters` floats, 1/batch applied,
 * valid until the next call. NULL: no memory. The losses count for compute_train_loss(). */
const float *compute_node(struct compute *compute, const float *values, uint64_t step,
                          struct slice_node node);

/* Mean loss of the examples of the last steps; NAN: none yet. Forgotten by compute_reset(). */
double compute_train_loss(const struct compute *compute);
void compute_reset(struct compute *compute);

/* Loss and accuracy on the test set (without one NAN), train loss, and the digest of `values`,
 * which are of `step`. Some ten milliseconds. */
struct evaluation compute_evaluate(const struct compute *compute, const float *values,
                                   uint64_t step);

#endif
