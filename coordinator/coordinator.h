/*
 * coordinator/coordinator.h: a node of the role coordinator: it registers, stands for chief and, in
 * office, does what coordinator/chief.h decides. A reactor (common/node/node.h) without threads or
 * clocks; it owns no file.
 *
 * Exit codes: 0 the run is done, or asked to leave; 1 the run has failed; TN_EXIT_SESSION_EXPIRED,
 * TN_EXIT_DEPOSED, TN_EXIT_RESIGNED, TN_EXIT_TASK_TAKEN.
 */
#ifndef COORDINATOR_COORDINATOR_H
#define COORDINATOR_COORDINATOR_H

#include "common/cluster/job.h"
#include "common/cluster/variables.h"
#include "common/node/node.h"
#include "coordinator/chief.h"

struct coordinator_config {
    struct chief_config chief; /* `self` and `pid` are filled in from the identity. */
};

/* What the job says; `state_arrays`: of each shard, the values included. `kernels`, the
 * arithmetic's fingerprint, is cut if too long. */
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

/* For tests and the simulator's checkers: in office, and under which epoch. */
bool coordinator_in_office(const struct coordinator *coordinator, uint64_t *epoch);
const struct chief *coordinator_chief(const struct coordinator *coordinator);

#endif
