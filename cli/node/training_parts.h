/*
 * cli/node/training_parts.h: what a process needs to compute gradients of a job: kernels, model and
 * data. They stay in memory as they were read: the digest covers the very bytes that are trained
 * on.
 *
 * Threads: the owner's. Blocking: training_parts_open() on the disk, because it loads the data.
 */
#ifndef CLI_NODE_TRAINING_PARTS_H
#define CLI_NODE_TRAINING_PARTS_H

#include "cli/node/node.h"
#include "common/base/error.h"
#include "common/cluster/inputs.h"
#include "common/job/job.h"
#include "data/dataset.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "worker/worker.h"

struct training_parts {
    const struct kernels *kernels; /* For sums and updates. */
    const char *programs;          /* The kernels of programs. Static storage. */
    struct model *model;
    struct dataset *train, *evaluated; /* The second: dataset_evaluated_split(). */
    struct inputs inputs; /* The fingerprint of the kernels and the digest of the data. */
};

/* `worker` is the number of the worker, whose GPUs are used, and 0 for others. `parts` must be
 * closed after a failure, too. Errors are those of kernels_open(), model_open(), dataset_open()
 * and, with the kernels "cublas", cublas_identity(). */
MUST_CHECK enum tn_status training_parts_open(struct training_parts *parts, const struct job *job,
                                              uint32_t worker, struct error *error);

/* The configuration of a worker, or of the evaluator, that computes with these parts, which outlive
 * it. `ports` may be NULL, for the caller to set. */
struct worker_config training_parts_config(const struct training_parts *parts,
                                           const struct node_setup *setup,
                                           const struct node_ports *ports);
void training_parts_close(struct training_parts *parts); /* A zeroed one is allowed. */

#endif
