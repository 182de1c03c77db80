/*
 * coordinator/coordinator.h: a node of the role coordinator: it registers, takes part in the
 * election and, as the chief, carries out the decisions of coordinator/chief.h. A reactor
 * (common/node/node.h) without threads, clocks or files.
 *
 * Exit codes: 0 the run is done, or the node was asked to leave; 1 the run has failed;
 * TN_EXIT_SESSION_EXPIRED, TN_EXIT_DEPOSED, TN_EXIT_RESIGNED, TN_EXIT_TASK_TAKEN.
 */
#ifndef COORDINATOR_COORDINATOR_H
#define COORDINATOR_COORDINATOR_H

#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "common/node/node.h"
#include "coordinator/chief.h"

struct coordinator_config {
    struct chief_config chief; /* `self` and `pid` are filled in from the identity. */
    const char *spec; /* The contents that /spec gets if it is missing when this process is elected
                       * (C15); NULL: it is not restored then. Copied. */
};

/* Fill `config` from the job. `state_arrays` counts the arrays of each shard, the values included.
 * `kernels`, the fingerprint of the arithmetic, is truncated if it is too long; "": unknown. */
void coordinator_config_init(struct coordinator_config *config, const struct job *job,
                             const struct variable_table *variables, uint32_t state_arrays,
                             const char *kernels);

struct coordinator;

/* `ports` must outlive it; the rest is copied. NULL: out of memory. */
struct coordinator *coordinator_create(const struct coordinator_config *config,
                                       const struct node_identity *identity,
                                       const struct node_ports *ports);
struct node coordinator_node(struct coordinator *coordinator);
void coordinator_destroy(struct coordinator *coordinator); /* NULL is allowed. */

#endif
