/*
 * cli/node/hosted_workers.h: several workers in one process, each on a thread of its own with its
 * own registration, connections and values. They share the data, the model, the kernels, the
 * ZooKeeper session (common/node/node_host.h) and the rows of tables that they look up
 * (worker/row_sharing.h), and end together.
 */
#ifndef CLI_NODE_HOSTED_WORKERS_H
#define CLI_NODE_HOSTED_WORKERS_H

#include "cli/node/node.h"
#include "worker/worker.h"

/* Run all workers of `setup` until they end. `shared`: what they have in common; identity and ports
 * are filled in. `*exit_code`: that of the first one that failed, upon which the others leave.
 * Blocks. Errors: those of node_host_open(), runtime_open(), worker_create(). */
MUST_CHECK enum tn_status hosted_workers_run(const struct node_setup *setup,
                                             const struct worker_config *shared, int *exit_code,
                                             struct error *error);

#endif
