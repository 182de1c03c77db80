/*
 * cli/run/node.h: what the single-node commands do alike: options, job, cluster, runtime.
 *
 * Precedence: flag > environment (TF_CONFIG and its relatives) > job file > default.
 */
#ifndef CLI_RUN_NODE_H
#define CLI_RUN_NODE_H

#include "cli/target.h"
#include "common/cluster/job.h"
#include "common/cluster/variables.h"
#include "common/node/node.h"
#include "common/node/runtime.h"

/* The cluster's key in the environment, in hexadecimal, for nodes of an agent that has read it. */
#define CLUSTER_KEY_VARIABLE "TANIST_CLUSTER_KEY"

struct node_setup {
    struct job job;
    struct task task;
    struct node_identity identity;
    struct variable_table variables;
    char connect[CONNECT_MAX], credentials[CREDENTIALS_MAX];
    char listen[TRANSPORT_ADDRESS_MAX];
    const char *dir, *session_file; /* NULL: none. */
    uint64_t cluster_key;
    bool under_agent;
    uint32_t wait_ms;
    struct runtime *runtime;
};

/* What differs between the roles. */
struct node_role {
    enum role role;
    const char *about, *examples;
    /* Open what the role needs, before the runtime. `*out` is given to run() and close(). */
    enum tn_status (*open)(struct node_setup *setup, void **out, struct error *error);
    /* Make the node and run it until it has finished. */
    enum tn_status (*run)(struct node_setup *setup, void *role, int *exit_code,
                          struct error *error);
    void (*close)(void *role); /* After the runtime was closed. NULL is allowed. */
};

/* The whole command. Returns the program's exit code. */
int node_command(const struct node_role *role, int argc, char **argv);

#endif
