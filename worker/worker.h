/*
 * worker/worker.h: a worker as a node: it registers, follows /run, /assignment and the ps, computes
 * gradients of its slices and exchanges them for values. A reactor: no thread, no clock; see
 * common/node/node.h. Arithmetic runs inline. Decisions are worker/training_loop.h's, arithmetic is
 * worker/compute.h's, connections are worker/ps_links.h's.
 *
 * It leaves with 0 when /run is done or it is asked to, 1 when the run failed or memory ran out,
 * else with membership's code.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include "common/base/error.h"
#include "common/cluster/job.h"
#include "common/node/node.h"
#include "worker/dataset.h"
#include "worker/models/model.h"

enum { WORKER_WAIT_LOG_MS = 3000 };

struct worker_config {
    struct node_identity identity;
    const struct node_ports *ports; /* All pointers outlive the worker. */
    const struct job *job;
    const struct model *model; /* Opened for at least compute_slice_examples(job) examples. */
    const struct dataset *train;
    const struct dataset *test; /* NULL: evaluations have a digest only. */
};

struct worker;

/* TN_ENOMEM; TN_EINVAL when the model is too small. On failure `*out` is NULL. */
MUST_CHECK enum tn_status worker_create(const struct worker_config *config, struct worker **out,
                                        struct error *error);
/* Releases every buffer but those that the transport still holds. NULL is allowed. */
void worker_destroy(struct worker *worker);

/* Valid until worker_destroy(). */
struct node worker_node(struct worker *worker);

#endif
