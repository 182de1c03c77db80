/* cli/node/worker.c: `tanist worker`: one worker. */
#include "worker/worker.h"

#include <assert.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/node/hosted_workers.h"
#include "cli/node/node.h"
#include "cli/node/node_store.h"
#include "cli/node/training_parts.h"
#include "common/job/strategy.h"
#include "data/source/index.h"
#include "group/group_worker.h"
#include "mirror/mirror_worker.h"

struct worker_parts {
    struct training_parts training;
    struct node_store store; /* Without ps. */
};

static enum tn_status open_worker(struct node_setup *setup, void **out, struct error *error)
{
    struct worker_parts *parts = calloc(1, sizeof *parts);
    *out = parts;
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    index_use(setup->dir);
    enum tn_status status =
        training_parts_open(&parts->training, &setup->job, setup->task.index, error);
    const bool has_ps = strategy_of_job(&setup->job)->has_ps;
    return status == TN_OK && !has_ps ? node_store_prepare(&parts->store, setup, error) : status;
}

/* A worker that holds all values, and saves them. */
static enum tn_status run_mirror(struct node_setup *setup, struct worker_parts *parts,
                                 const struct worker_config *config, int *exit_code,
                                 struct error *error)
{
    struct mirror_worker *worker = NULL;
    enum tn_status status = node_store_start(&parts->store, setup, error);
    if (status != TN_OK) { return status; }
    const struct mirror_config mirror = {.worker = *config,
                                         .store = store_thread_port(parts->store.thread),
                                         .place = parts->store.place};
    status = mirror_worker_create(&mirror, &worker, error);
    if (status == TN_OK) {
        const struct node node = mirror_worker_node(worker);
        *exit_code = runtime_run(setup->runtime, &node);
    }
    store_thread_stop(parts->store.thread, *exit_code == TN_EXIT_OK);
    mirror_worker_destroy(worker);
    return status;
}

static enum tn_status run_with_ps(struct node_setup *setup, const struct worker_config *config,
                                  int *exit_code, struct error *error)
{
    struct worker *worker = NULL;
    enum tn_status status = worker_create(config, &worker, error);
    if (status != TN_OK) { return status; }
    const struct node node = worker_node(worker);
    *exit_code = runtime_run(setup->runtime, &node);
    worker_destroy(worker);
    return TN_OK;
}

static enum tn_status run_group(struct node_setup *setup, const struct worker_config *config,
                                int *exit_code, struct error *error)
{
    struct group_worker *worker = NULL;
    enum tn_status status = group_worker_create(config, &worker, error);
    if (status != TN_OK) { return status; }
    const struct node node = group_worker_node(worker);
    *exit_code = runtime_run(setup->runtime, &node);
    group_worker_destroy(worker);
    return TN_OK;
}

static enum tn_status run_worker(struct node_setup *setup, void *role, int *exit_code,
                                 struct error *error)
{
    struct worker_parts *parts = role;
    const bool alone = setup->runtime != NULL;
    const struct worker_config config = training_parts_config(
        &parts->training, setup, alone ? runtime_ports(setup->runtime) : NULL);
    if (!alone) { return hosted_workers_run(setup, &config, exit_code, error); }
    const bool in_group = strategy_members(&setup->job) > 1;
    if (!strategy_of_job(&setup->job)->has_ps) {
        return run_mirror(setup, parts, &config, exit_code, error);
    }
    return in_group ? run_group(setup, &config, exit_code, error)
                    : run_with_ps(setup, &config, exit_code, error);
}

static void close_worker(void *role)
{
    struct worker_parts *parts = role;
    if (parts == NULL) { return; }
    training_parts_close(&parts->training);
    free(parts);
}

int command_worker(int argc, char **argv)
{
    static const struct node_role role = {
        .role = ROLE_WORKER,
        .about = "Run one worker: until the job is done, it pulls the parameters from the ps, "
                 "computes the\ngradients of its slices, and pushes them to the ps. Without ps, it "
                 "holds "
                 "all parameters and\nexchanges sums with the other workers.",
        .examples =
            "  tanist worker --job job.json --index 0 --zk h1:2181,h2:2181,h3:2181 --listen "
            "tcp://h4:0\n  TF_CONFIG='{\"cluster\": ..., \"task\": {\"type\": \"worker\", "
            "\"index\": 0}}' tanist worker --job job.json --zk h1:2181\n",
        .open = open_worker,
        .run = run_worker,
        .close = close_worker};
    return node_command(&role, argc, argv);
}
