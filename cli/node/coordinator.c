/* cli/node/coordinator.c: `tanist coordinator`: one coordinator, a candidate for chief. */
#include "coordinator/coordinator.h"

#include <assert.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/node/cluster_create.h"
#include "cli/node/node.h"
#include "kernels/job_kernels.h"
#include "kernels/kernels.h"
#include "kernels/optimizer.h"

struct coordinator_parts {
    struct coordinator_config config;
};

static enum tn_status open_coordinator(struct node_setup *setup, void **out, struct error *error)
{
    struct coordinator_parts *parts = calloc(1, sizeof *parts);
    char fingerprint[FINGERPRINT_MAX];
    const struct kernels *kernels = NULL;
    *out = parts;
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = kernels_open(job_kernels(&setup->job), &kernels, error);
    if (status != TN_OK) { return status; }
    kernels->fingerprint(fingerprint, sizeof fingerprint);
    /* Only workers know the type of their GPUs. */
    if (setup->job.train.kernels == JOB_KERNELS_CUBLAS) { fingerprint[0] = '\0'; }
    const struct optimizer optimizer = optimizer_of_job(&setup->job, &setup->variables);
    coordinator_config_init(&parts->config, &setup->job, &setup->variables, optimizer.arrays,
                            fingerprint);
    return TN_OK;
}

static enum tn_status run_coordinator(struct node_setup *setup, void *role, int *exit_code,
                                      struct error *error)
{
    struct coordinator_parts *parts = role;
    char *spec = cluster_new_spec(&setup->job, &setup->variables, setup->cluster_key);
    assert(setup->runtime != NULL);
    if (spec == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    parts->config.spec = spec;
    struct coordinator *coordinator =
        coordinator_create(&parts->config, &setup->identity, runtime_ports(setup->runtime));
    free(spec);
    if (coordinator == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    const struct node node = coordinator_node(coordinator);
    *exit_code = runtime_run(setup->runtime, &node);
    coordinator_destroy(coordinator);
    return TN_OK;
}

int command_coordinator(int argc, char **argv)
{
    static const struct node_role role = {
        .role = ROLE_COORDINATOR,
        .about =
            "Run one coordinator. The first coordinator creates the cluster in ZooKeeper. One of "
            "them is elected\nchief; when it dies, another takes over within milliseconds.",
        .examples = "  tanist coordinator --job job.json --index 0 --zk h1:2181,h2:2181,h3:2181 "
                    "--listen tcp://h4:0\n",
        .open = open_coordinator,
        .run = run_coordinator,
        .close = free};
    return node_command(&role, argc, argv);
}
