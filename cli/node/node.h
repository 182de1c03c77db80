/*
 * cli/node/node.h: what the commands of a single node share (`tanist coordinator`, `ps`, `worker`):
 * options, job, cluster, runtime.
 *
 * Precedence: flag > environment (TF_CONFIG and the like) > job file > default.
 */
#ifndef CLI_NODE_NODE_H
#define CLI_NODE_NODE_H

#include "cli/zk_options.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "common/node/node.h"
#include "common/node/runtime.h"
#include "model/model.h"

/* The environment variable by which an agent gives its nodes the key of the cluster and the hash
 * of its model's graph, "KEY:HASH" in hexadecimal. */
#define CLUSTER_KEY_VARIABLE "TANIST_CLUSTER_KEY"

struct node_setup {
    struct job job;
    struct task task;
    uint32_t nodes; /* Tasks of this process: `task` and those that follow it. */
    struct node_identity identity;
    struct model *model;             /* Has the initial values. */
    struct variable_table variables; /* The variables of the model. */
    char connect[CONNECT_MAX], credentials[CREDENTIALS_MAX];
    char listen[TRANSPORT_ADDRESS_MAX];
    const char *dir, *session_file; /* session_file: NULL without an agent. */
    uint64_t cluster_key;
    bool under_agent;
    int memory; /* A ps: memory that its agent keeps; -1: none. */
    /* The role's, as in struct runtime_config. */
    const struct loan_memory *loans;
    uint32_t wait_ms;
    struct runtime *runtime; /* NULL: there are several nodes, and the role opens one for each. */
};

/* The differences between the roles. */
struct node_role {
    enum role role;
    const char *about, *examples;
    /* Open what the role needs, before the runtime is opened. `*out` is passed to run() and
     * close(). */
    enum tn_status (*open)(struct node_setup *setup, void **out, struct error *error);
    /* Create the node and run it until it ends. */
    enum tn_status (*run)(struct node_setup *setup, void *role, int *exit_code,
                          struct error *error);
    void (*close)(void *role); /* Called after the runtime is closed. `role` may be NULL. */
};

/* Open the runtime of the node with this place in the process, and complete its identity. `host`:
 * as in struct runtime_config. Errors: those of runtime_open(). */
MUST_CHECK enum tn_status node_open_runtime(const struct node_setup *setup, struct node_host *host,
                                            uint32_t place, struct node_identity *identity,
                                            struct runtime **out, struct error *error);

/* Run the whole command. Returns the exit code of the program. */
int node_command(const struct node_role *role, int argc, char **argv);

#endif
