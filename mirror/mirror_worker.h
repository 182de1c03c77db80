/*
 * mirror/mirror_worker.h: a worker of a run without ps as a node: it registers, follows /run,
 * /assignment and the other workers, keeps all values, computes the gradients of its slices, and
 * exchanges sums with its peers. A reactor: no thread, no clock; see common/node/node.h. Arithmetic
 * runs inline. mirror/replica.h decides, worker/compute.h computes, ps/shard.h has the arrays and
 * the update, ps/checkpoint_client.h saves and loads.
 *
 * It exits with 0 when the run is done or it is asked to leave, with 1 when the run failed or
 * memory ran out, with 3 when the run uses other data or another arithmetic, or a gradient is not
 * finite, else with membership's code.
 */
#ifndef MIRROR_MIRROR_WORKER_H
#define MIRROR_MIRROR_WORKER_H

#include "ps/store/store_port.h"
#include "worker/worker.h"

enum {
    MIRROR_LEAVE_MS = 10000,   /* After the end, for the manifest and for observers of losses. */
    MIRROR_WAIT_LOG_MS = 3000, /* A wait is logged at most this often. */
};

struct mirror_config {
    struct worker_config worker; /* All pointers outlive the node. */
    struct store_port store;
    const char *place; /* "host:folder" of the store, for the manifest; copied, truncated. */
};

struct mirror_worker;

/* Errors as compute_open(), and TN_ENOMEM. On failure `*out` is NULL. */
MUST_CHECK enum tn_status mirror_worker_create(const struct mirror_config *config,
                                               struct mirror_worker **out, struct error *error);
/* Releases every buffer except those that the store and the transport still hold. NULL is
 * allowed. */
void mirror_worker_destroy(struct mirror_worker *worker);

/* Valid until mirror_worker_destroy(). */
struct node mirror_worker_node(struct mirror_worker *worker);

/* For tests and tools: the current values, NULL while it has none, and their generation and
 * step. */
const float *mirror_worker_values(const struct mirror_worker *worker, uint64_t *generation,
                                  uint64_t *step);

#endif
