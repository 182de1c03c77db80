/*
 * ps/ps.h: a parameter server as a node: it registers, follows /run, keeps its shard, answers
 * workers, and writes and reads checkpoints through the store port. A reactor: no thread, no clock;
 * see common/node/node.h. Decisions are ps/step.h's, arithmetic is ps/shard.h's, the disk is
 * ps/checkpoint_client.h's.
 *
 * NODE_ROLE events are `struct store_event`s, the answers of `config.store`.
 *
 * It leaves with 0 when /run is done or it is asked to, 1 when the run failed or memory ran out,
 * else with membership's code. After a run's end it first keeps the last manifest and collects what
 * is not kept, for at most PS_LEAVE_MS.
 */
#ifndef PS_PS_H
#define PS_PS_H

#include "common/base/error.h"
#include "common/cluster/job.h"
#include "common/cluster/variables.h"
#include "common/node/node.h"
#include "kernels/kernels.h"
#include "ps/store/store_port.h"

enum { PS_LEAVE_MS = 10000, PS_REFUSAL_LOG_MS = 3000 };

struct ps_config {
    struct node_identity identity;
    const struct node_ports *ports; /* All pointers outlive the ps. */
    const struct job *job;
    const struct variable_table *variables;
    const struct kernels *kernels;
    struct store_port store;
    const char *place; /* "host:folder" of the store, for the manifest; copied, cut to fit. */
};

struct ps;

/* TN_ENOMEM, or TN_EINVAL when there are more ps than the parameters allow. On failure `*out` is
 * NULL. */
MUST_CHECK enum tn_status ps_create(const struct ps_config *config, struct ps **out,
                                    struct error *error);
/* Releases every buffer but those that the store and the transport still hold. NULL is allowed. */
void ps_destroy(struct ps *ps);

/* Valid until ps_destroy(). */
struct node ps_node(struct ps *ps);

/* For tests and tools: the shard's present values, NULL while it has none; and what they are of. */
const float *ps_values(const struct ps *ps, uint64_t *generation, uint64_t *step);

#endif
