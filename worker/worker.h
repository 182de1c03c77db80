/*
 * worker/worker.h: a worker as a node: it registers, follows /run, /assignment and the ps, computes
 * the gradients of its slices and exchanges them for values. A reactor: no thread, no clock; see
 * common/node/node.h. Arithmetic runs inline. worker/training_loop.h decides, worker/compute.h
 * computes, and common/node/peer_links.h keeps the connections.
 *
 * It exits with 0 when the run is done or it is asked to leave, with 1 when the run failed or
 * memory ran out, with 3 when the run uses other data or another arithmetic, else with membership's
 * code.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "common/node/node.h"
#include "data/dataset.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "worker/row_sharing.h"

enum { WORKER_WAIT_LOG_MS = 3000 }; /* A wait is logged at most this often. */

struct worker_config {
    struct node_identity identity;
    const struct node_ports *ports; /* All pointers outlive the worker. */
    const struct job *job;
    const struct model *model;
    const char *programs; /* As in struct compute_config. */
    const struct kernels *kernels;
    const struct dataset *train;
    const struct dataset *test; /* May be NULL: evaluations then have a digest only. */
    struct inputs inputs;       /* The arithmetic and the data. */
    const char *details;        /* As in struct compute_config. */
    struct row_member member;   /* Its place among workers that share rows, in sync mode. */
};

struct worker;

/* Errors as compute_open(). On failure `*out` is NULL. */
MUST_CHECK enum tn_status worker_create(const struct worker_config *config, struct worker **out,
                                        struct error *error);
/* Releases every buffer except those that the transport still holds. NULL is allowed. */
void worker_destroy(struct worker *worker);

/* Valid until worker_destroy(). */
struct node worker_node(struct worker *worker);

#endif
