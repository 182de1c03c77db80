/* cli/run/worker.c: `tanist worker`: one worker. */
#include "worker/worker.h"

#include <assert.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/run/node.h"
#include "kernels/kernels.h"
#include "worker/compute.h"

struct worker_parts {
    const struct kernels *kernels;
    struct model *model;
    struct dataset *train, *test;
    struct worker *worker;
    struct inputs inputs;
};

/* The data stay in memory as they were read: the digest covers the very bytes that are trained on.
 */
static void identify_inputs(struct worker_parts *parts)
{
    const struct digest data = dataset_digest(parts->train, parts->test);
    parts->kernels->fingerprint(parts->inputs.fingerprint, sizeof parts->inputs.fingerprint);
    parts->inputs.data[0] = data.low;
    parts->inputs.data[1] = data.high;
}

static enum tn_status open_worker(struct node_setup *setup, void **out, struct error *error)
{
    struct worker_parts *parts = calloc(1, sizeof *parts);
    *out = parts;
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = kernels_open("cpu", &parts->kernels, error);
    if (status == TN_OK) { status = model_open(&setup->job, &parts->model, error); }
    if (status == TN_OK) {
        status = dataset_open(&setup->job, DATASET_TRAIN, &parts->train, error);
    }
    if (status == TN_OK) { status = dataset_open(&setup->job, DATASET_TEST, &parts->test, error); }
    if (status == TN_OK) { identify_inputs(parts); }
    return status;
}

static enum tn_status run_worker(struct node_setup *setup, void *role, int *exit_code,
                                 struct error *error)
{
    struct worker_parts *parts = role;
    assert(setup->runtime != NULL);
    const struct worker_config config = {.identity = setup->identity,
                                         .ports = runtime_ports(setup->runtime),
                                         .job = &setup->job,
                                         .model = parts->model,
                                         .programs = "openblas",
                                         .kernels = parts->kernels,
                                         .train = parts->train,
                                         .test = parts->test,
                                         .inputs = parts->inputs};
    enum tn_status status = worker_create(&config, &parts->worker, error);
    if (status != TN_OK) { return status; }
    const struct node node = worker_node(parts->worker);
    *exit_code = runtime_run(setup->runtime, &node);
    worker_destroy(parts->worker);
    parts->worker = NULL;
    return TN_OK;
}

static void close_worker(void *role)
{
    struct worker_parts *parts = role;
    if (parts == NULL) { return; }
    dataset_close(parts->test);
    dataset_close(parts->train);
    model_close(parts->model);
    free(parts);
}

int command_worker(int argc, char **argv)
{
    static const struct node_role role = {
        .role = ROLE_WORKER,
        .about = "Run one worker: until the job is done, it pulls the parameters from the ps, "
                 "computes the\ngradients of its slices, and pushes them to the ps.",
        .examples =
            "  tanist worker --job job.json --index 0 --zk h1:2181,h2:2181,h3:2181 --listen "
            "tcp://h4:0\n  TF_CONFIG='{\"cluster\": ..., \"task\": {\"type\": \"worker\", "
            "\"index\": 0}}' tanist worker --job job.json --zk h1:2181\n",
        .open = open_worker,
        .run = run_worker,
        .close = close_worker};
    return node_command(&role, argc, argv);
}
