#include "model/job_graph.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tanist/layers.h"

static tn_tensor inputs_of(struct tn_graph *graph, const struct job *job)
{
    return tn_placeholder(graph, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, job->model.inputs));
}

/* Dense layers with relu between them, softmax cross entropy; without hidden layers it is softmax
 * regression. */
static void build_classifier(struct tn_graph *graph, const struct job *job)
{
    tn_tensor x = inputs_of(graph, job);
    tn_tensor labels = tn_placeholder(graph, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    for (uint32_t i = 0; i < job->model.hidden_count; i++) {
        char name[32] = "";
        int length = snprintf(name, sizeof name, "hidden%" PRIu32, i + 1);
        assert(length > 0 && (size_t)length < sizeof name);
        x = tn_dense(graph, name, x, job->model.hidden[i], TN_RELU);
    }
    tn_tensor logits = tn_dense(graph, "output", x, job->model.outputs, TN_LINEAR);
    tn_loss(graph, tn_softmax_cross_entropy(graph, logits, labels), 1);
    tn_metric(graph, "accuracy", tn_is_correct(graph, logits, labels));
    tn_output(graph, "logits", logits);
}

/* Linear regression from zeros, without a scope. */
static void build_linear(struct tn_graph *graph, const struct job *job)
{
    const struct tn_variable_options zeros = {.init = TN_INIT_ZEROS};
    struct tn_shape shape = TN_SHAPE(job->model.inputs, job->model.outputs);
    tn_tensor targets =
        tn_placeholder(graph, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, job->model.outputs));
    tn_tensor weights = tn_variable(graph, "weights", shape, &zeros);
    tn_tensor bias = tn_variable(graph, "bias", TN_SHAPE(job->model.outputs), &zeros);
    tn_tensor product = tn_matmul(graph, inputs_of(graph, job), weights, false, false);
    tn_tensor outputs = tn_add(graph, product, bias);
    tn_loss(graph, tn_squared_error(graph, outputs, targets), 1);
    tn_output(graph, "outputs", outputs);
}

static const struct {
    const char *name;
    void (*build)(struct tn_graph *graph, const struct job *job);
} types[] = {
    {"mlp", build_classifier},
    {"softmax", build_classifier},
    {"linear", build_linear},
};

enum tn_status job_graph_create(const struct job *job, struct tn_graph **out, struct error *error)
{
    struct tn_error text = {.text = ""};
    assert(job != NULL && out != NULL);
    *out = NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, job->model.type) != 0) { continue; }
        enum tn_status status = tn_graph_create(out, &text);
        if (status == TN_OK) {
            types[i].build(*out, job);
            status = tn_graph_status(*out, &text);
        }
        if (status == TN_OK) { return TN_OK; }
        tn_graph_destroy(*out);
        *out = NULL;
        return error_set(error, status, "model: %s", text.text);
    }
    return error_set(error, TN_EINVAL, "unknown model.type '%s': one of mlp, softmax, linear",
                     job->model.type);
}
