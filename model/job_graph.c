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

struct type {
    const char *name;
    void (*build)(struct tn_graph *graph, const struct job *job);
    bool is_classifier;
    const char *hidden_remedy; /* NULL: hidden layers are allowed. */
};

static const struct type types[] = {
    {"mlp", build_classifier, true, NULL},
    {"softmax", build_classifier, true, "remove them or use 'mlp'"},
    {"linear", build_linear, false, "remove them"},
};

static enum tn_status check_width(const char *key, uint32_t width, struct error *error)
{
    if (width >= 1 && width <= JOB_WIDTH_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s is %" PRIu32 ": give a number from 1 to %d", key, width,
                     JOB_WIDTH_MAX);
}

static enum tn_status check_hidden(const struct type *type, const struct job *job,
                                   struct error *error)
{
    uint32_t count = job->model.hidden_count;
    if (type->hidden_remedy != NULL && count > 0) {
        return error_set(error, TN_EINVAL,
                         "model.hidden has %" PRIu32 " layers, but model.type '%s' has none: %s",
                         count, type->name, type->hidden_remedy);
    }
    if (count > JOB_HIDDEN_MAX) {
        return error_set(error, TN_EINVAL, "model.hidden has %" PRIu32 " layers: give at most %d",
                         count, JOB_HIDDEN_MAX);
    }
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < count && status == TN_OK; i++) {
        status = check_width("model.hidden", job->model.hidden[i], error);
    }
    return status;
}

static enum tn_status check(const struct type *type, const struct job *job, struct error *error)
{
    uint32_t outputs = job->model.outputs;
    enum tn_status status = check_width("model.inputs", job->model.inputs, error);
    if (status == TN_OK) { status = check_width("model.outputs", outputs, error); }
    if (status != TN_OK) { return status; }
    if (type->is_classifier && (outputs < 2 || outputs > JOB_CLASSES_MAX)) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %" PRIu32
                         ": a classifier needs 2 to %d, one for each class",
                         outputs, JOB_CLASSES_MAX);
    }
    return check_hidden(type, job, error);
}

static enum tn_status build(const struct type *type, const struct job *job, struct tn_graph **out,
                            struct error *error)
{
    struct tn_error text = {.text = ""};
    enum tn_status status = check(type, job, error);
    if (status != TN_OK) { return status; }
    status = tn_graph_create(out, &text);
    if (status == TN_OK) {
        type->build(*out, job);
        status = tn_graph_status(*out, &text);
    }
    if (status == TN_OK) { return TN_OK; }
    tn_graph_destroy(*out);
    *out = NULL;
    return error_set(error, status, "model: %s", text.text);
}

enum tn_status job_graph_create(const struct job *job, struct tn_graph **out, struct error *error)
{
    assert(job != NULL && out != NULL);
    *out = NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, job->model.type) == 0) {
            return build(&types[i], job, out, error);
        }
    }
    return error_set(error, TN_EINVAL, "unknown model.type '%s': one of mlp, softmax, linear",
                     job->model.type);
}
