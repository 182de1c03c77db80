/*
 * local/trainer.h: synchronous training in one place: the parameters, the state of the optimizer,
 * and a step from one update to the next. By the rules of a cluster (A1 to A8), so that it computes
 * the same bits as any number of ps and workers: `tanist run --local` trains with it, and the
 * simulator compares clusters with it.
 *
 * A step reads the current arrays and writes fresh ones, so a reference on the arrays is a
 * reference on one complete step: a checkpoint is written from it while training continues.
 *
 * Threads: the owner's, and with `threads` above 1 in the configuration those of its compute
 * (worker/compute_team.h), which share all work on a step. Nothing blocks.
 */
#ifndef LOCAL_TRAINER_H
#define LOCAL_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "kernels/measurement.h"
#include "kernels/optimizer.h"
#include "local/tables.h"
#include "local/thread_choice.h"
#include "worker/compute.h"

/* Does not move while it is open. */
struct trainer {
    struct compute_config config;
    struct buffer_pool *pool; /* Owned. */
    struct compute compute;
    struct optimizer optimizer;
    struct tables tables; /* At the same step. */
    uint64_t parameters;
    uint32_t arrays; /* The values and the state of the optimizer. */
    uint64_t step;   /* Updates applied. */
    /* One for the range of each thread if the optimizer needs norms; else NULL. Owned. */
    struct measurement *measurements;
    struct thread_choice choice; /* Whether the next step uses all threads. */
    double loss; /* The mean loss of the batch of the last one; NAN: none since the load. */
    /* One reference each; array 0 is the values. */
    struct buffer *current[OPTIMIZER_ARRAYS_MAX];
};

/* Open a trainer at step 0, with the initial values. All pointers in `config` outlive it; its pool
 * and rows are not used. TN_ENOMEM, and the errors of compute_open(); after a failure nothing is
 * owned. */
MUST_CHECK enum tn_status trainer_open(struct trainer *trainer, const struct compute_config *config,
                                       struct error *error);
void trainer_close(struct trainer *trainer); /* A zeroed one is allowed. */

/*
 * Apply the gradient of the next batch. After a failure nothing has changed.
 *
 *   TN_EINVAL  the gradient is not finite: training diverged, or an example is not a number
 *   TN_ENOMEM  with tables, some may have changed: close the trainer
 */
MUST_CHECK enum tn_status trainer_step(struct trainer *trainer, struct error *error);

/* The parameters after `step` updates, valid until the next step or load. */
const float *trainer_values(const struct trainer *trainer);

/* The moving average of the parameters; without one, the parameters themselves. */
const float *trainer_averages(const struct trainer *trainer);

/* Evaluate the current step: see compute_evaluate(). The digest covers the tables, too:
 * tables_digest(). */
struct evaluation trainer_evaluate(const struct trainer *trainer, struct error *failure);

/* A fresh buffer for each array, with undefined contents, to be filled from a checkpoint. False:
 * out of memory; `incoming` is all NULL. */
bool trainer_begin_load(struct trainer *trainer,
                        struct buffer *incoming[static OPTIMIZER_ARRAYS_MAX]);
/* Continue from `incoming`, the arrays after `step` updates, with tables of this step. Takes the
 * references. */
void trainer_adopt(struct trainer *trainer, struct buffer *incoming[static OPTIMIZER_ARRAYS_MAX],
                   uint64_t step);

/* Release a set of arrays; NULL entries are allowed. */
void trainer_release_arrays(struct buffer *arrays[static OPTIMIZER_ARRAYS_MAX]);

#endif
