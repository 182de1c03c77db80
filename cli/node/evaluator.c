/* cli/node/evaluator.c: `tanist evaluator`: the evaluator of a run. */
#include "evaluator/evaluator.h"

#include <assert.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/model/saved_model.h"
#include "cli/node/node.h"
#include "cli/node/training_parts.h"
#include "data/source/index.h"

struct evaluator_parts {
    struct training_parts training;
    struct saved_model saved;
    struct buffer *parameters; /* Owned; NULL: those of `saved` are evaluated. */
};

static enum tn_status open_evaluator(struct node_setup *setup, void **out, struct error *error)
{
    struct evaluator_parts *parts = calloc(1, sizeof *parts);
    *out = parts;
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    index_use(setup->dir);
    enum tn_status status = training_parts_open(&parts->training, &setup->job, 0, error);
    if (status != TN_OK) { return status; }
    return saved_model_use(&parts->saved, setup->dir, &setup->job, parts->training.model, error);
}

/* The values that are evaluated, and the parameters themselves for the digest. */
static enum tn_status read_values(void *ctx, uint64_t checkpoint, struct evaluator_values *out,
                                  struct error *error)
{
    struct evaluator_parts *parts = ctx;
    assert(checkpoint != 0);
    buffer_release(parts->parameters);
    parts->parameters = NULL;
    enum tn_status status = saved_model_load(&parts->saved, checkpoint, error);
    if (status == TN_OK && saved_model_evaluated_array(&parts->saved) != 0) {
        status = saved_model_read(&parts->saved, 0, &parts->parameters, error);
    }
    if (status != TN_OK) { return status; }
    *out = (struct evaluator_values){
        .step = parts->saved.manifest.step,
        .parameters = parts->parameters != NULL ? parts->parameters : parts->saved.values,
        .averages = parts->saved.values,
    };
    return TN_OK;
}

static enum tn_status run_evaluator(struct node_setup *setup, void *role, int *exit_code,
                                    struct error *error)
{
    struct evaluator_parts *parts = role;
    struct evaluator *evaluator = NULL;
    assert(setup->runtime != NULL);
    const struct evaluator_config config = {
        .worker = training_parts_config(&parts->training, setup, runtime_ports(setup->runtime)),
        .source = {parts, read_values},
    };
    const enum tn_status status = evaluator_create(&config, &evaluator, error);
    if (status != TN_OK) { return status; }
    const struct node node = evaluator_node(evaluator);
    *exit_code = runtime_run(setup->runtime, &node);
    evaluator_destroy(evaluator);
    return TN_OK;
}

static void close_evaluator(void *role)
{
    struct evaluator_parts *parts = role;
    if (parts == NULL) { return; }
    buffer_release(parts->parameters);
    parts->saved.model = NULL; /* `training` owns the model. */
    saved_model_close(&parts->saved);
    training_parts_close(&parts->training);
    free(parts);
}

int command_evaluator(int argc, char **argv)
{
    static const struct node_role role = {
        .role = ROLE_EVALUATOR,
        .about =
            "Run the evaluator: until the job is done, it evaluates the committed checkpoints that "
            "the chief\norders, and reports the results. Training never waits for it. It needs "
            "the folder of the checkpoints\nof all ps, on the same host or shared.",
        .examples =
            "  tanist evaluator --job job.json --index 0 --zk h1:2181,h2:2181,h3:2181 --dir "
            "/shared/run\n  TF_CONFIG='{\"cluster\": ..., \"task\": {\"type\": \"evaluator\", "
            "\"index\": 0}}' tanist evaluator --job job.json --zk h1:2181\n",
        .open = open_evaluator,
        .run = run_evaluator,
        .close = close_evaluator};
    return node_command(&role, argc, argv);
}
