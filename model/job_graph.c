#include "model/job_graph.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/job_embed.h"
#include "model/job_layers.h"
#include "model/layer_joins.h"
#include "model/onnx/import.h"
#include "model/user_model.h"
#include "tanist/layers.h"

static tn_tensor inputs_of(struct tn_graph *graph, const struct job *job)
{
    tn_tensor x =
        tn_placeholder(graph, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, job->model.inputs));
    return job_embed(graph, job, x);
}

/* One label for each row of logits: one per example, or one per element of a sequence. */
static void classify(struct tn_graph *graph, const struct job *job, tn_tensor logits)
{
    struct tn_shape shape = tn_shape_of(graph, logits);
    if (shape.rank > 0) { shape.dims[--shape.rank] = 0; }
    const bool wide = job->model.outputs > JOB_BYTE_CLASSES;
    tn_tensor labels = tn_placeholder(graph, "labels", wide ? TN_INT32 : TN_UINT8, shape);
    float smoothing = (float)job->model.label_smoothing;
    tn_loss(graph, tn_softmax_cross_entropy_smoothed(graph, logits, labels, smoothing), 1);
    tn_metric(graph, "accuracy", tn_is_correct(graph, logits, labels));
    tn_output(graph, "logits", logits);
}

/* Label 1 of two classes where the one logit is above 0. */
static void name_logit(struct tn_graph *graph, tn_tensor logit, tn_tensor labels)
{
    tn_metric(graph, "accuracy", tn_is_correct(graph, tn_pad(graph, logit, 1, 1, 0, 0), labels));
    tn_output(graph, "logits", logit);
}

static void classify_two(struct tn_graph *graph, tn_tensor logit)
{
    tn_tensor labels = tn_placeholder(graph, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_tensor targets =
        tn_reshape(graph, tn_cast(graph, labels, TN_FLOAT32, 1), TN_SHAPE(TN_BATCH, 1));
    tn_loss(graph, tn_sigmoid_cross_entropy(graph, logit, targets), 1);
    name_logit(graph, logit, labels);
}

/* The vectors of query and item are one behind the other. An example of label 0 has no right item,
 * but its item is a wrong one for the others. */
static void retrieve(struct tn_graph *graph, tn_tensor vectors)
{
    const int64_t width = tn_shape_of(graph, vectors).dims[1] / 2;
    tn_tensor queries = tn_slice(graph, vectors, 1, 0, width);
    tn_tensor items = tn_slice(graph, vectors, 1, width, width);
    tn_tensor labels = tn_placeholder(graph, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_tensor fits = tn_cast(graph, labels, TN_FLOAT32, 1);
    tn_loss(graph, tn_slice_softmax_cross_entropy(graph, queries, items, fits), 1);
    tn_metric(graph, "slice_recall", tn_slice_recall(graph, queries, items, fits));
    tn_tensor score = tn_sum(graph, tn_multiply(graph, queries, items), (const uint32_t[]){1}, 1);
    name_logit(graph, tn_reshape(graph, score, TN_SHAPE(TN_BATCH, 1)), labels);
}

static tn_tensor error_of(struct tn_graph *graph, const struct job *job, tn_tensor outputs,
                          tn_tensor targets)
{
    switch (job->model.loss) {
    case LOSS_SOFTMAX_CROSS_ENTROPY: /* The default, which "linear" leaves as it is. */
    case LOSS_SLICE_SOFTMAX_CROSS_ENTROPY:
    case LOSS_SQUARED_ERROR: break;
    case LOSS_ABSOLUTE_ERROR: return tn_absolute_error(graph, outputs, targets);
    case LOSS_HUBER_ERROR: return tn_huber_error(graph, outputs, targets, 1);
    case LOSS_SIGMOID_CROSS_ENTROPY: return tn_sigmoid_cross_entropy(graph, outputs, targets);
    }
    return tn_squared_error(graph, outputs, targets);
}

static void regress(struct tn_graph *graph, const struct job *job, tn_tensor outputs)
{
    tn_tensor targets =
        tn_placeholder(graph, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, job->model.outputs));
    tn_loss(graph, error_of(graph, job, outputs, targets), 1);
    bool logits = job->model.loss == LOSS_SIGMOID_CROSS_ENTROPY;
    tn_output(graph, "outputs", logits ? tn_activate(graph, outputs, TN_SIGMOID) : outputs);
}

static void add_loss(struct tn_graph *graph, const struct job *job, tn_tensor x)
{
    if (job_is_regression(job)) {
        regress(graph, job, x);
    } else if (job->model.loss == LOSS_SIGMOID_CROSS_ENTROPY) {
        classify_two(graph, x);
    } else if (job->model.loss == LOSS_SLICE_SOFTMAX_CROSS_ENTROPY) {
        retrieve(graph, x);
    } else {
        classify(graph, job, x);
    }
}

/* Dense layers with relu between them, softmax cross entropy; without hidden layers it is softmax
 * regression. */
static enum tn_status build_classifier(struct tn_graph *graph, const struct job *job,
                                       struct error *error)
{
    (void)error;
    tn_tensor x = inputs_of(graph, job);
    for (uint32_t i = 0; i < job->model.hidden_count; i++) {
        char name[32] = "";
        int length = snprintf(name, sizeof name, "hidden%" PRIu32, i + 1);
        assert(length > 0 && (size_t)length < sizeof name);
        x = tn_dense(graph, name, x, job->model.hidden[i], TN_RELU);
    }
    tn_tensor logits = tn_dense(graph, "output", x, job->model.outputs, TN_LINEAR);
    classify(graph, job, logits);
    return TN_OK;
}

/* Linear regression from zeros, without a scope. */
static enum tn_status build_linear(struct tn_graph *graph, const struct job *job,
                                   struct error *error)
{
    (void)error;
    const struct tn_variable_options zeros = {.init = TN_INIT_ZEROS};
    struct tn_shape shape = TN_SHAPE(job->model.inputs, job->model.outputs);
    tn_tensor weights = tn_variable(graph, "weights", shape, &zeros);
    tn_tensor bias = tn_variable(graph, "bias", TN_SHAPE(job->model.outputs), &zeros);
    tn_tensor product = tn_matmul(graph, inputs_of(graph, job), weights, false, false);
    tn_tensor outputs = tn_add(graph, product, bias);
    regress(graph, job, outputs);
    return TN_OK;
}

/* The field is float32 [batch, shape...], or bytes where the first layer reads ids. */
static tn_tensor shaped_inputs(struct tn_graph *graph, const struct job *job)
{
    struct tn_shape shape = TN_SHAPE(TN_BATCH, job->model.inputs);
    uint32_t count = job->model.shape_count;
    if (job->model.embedding_count > 0) { return inputs_of(graph, job); }
    assert(count <= JOB_RANK_MAX);
    if (count > 0) { shape.rank = 1 + count; }
    for (uint32_t d = 0; d < count; d++) { shape.dims[1 + d] = job->model.shape[d]; }
    enum tn_type type = job_layers_read_ids(job) ? TN_UINT8 : TN_FLOAT32;
    return tn_placeholder(graph, "inputs", type, shape);
}

/* The towers of query and item, joined. */
static enum tn_status check_towers(const struct tn_graph *graph, tn_tensor x, struct error *error)
{
    char text[LAYER_SHAPE_MAX];
    const struct tn_shape shape = tn_shape_of(graph, x);
    if (shape.rank == 2 && shape.dims[1] % 2 == 0) { return TN_OK; }
    layer_shape_text(graph, x, text);
    return error_set(error, TN_EINVAL,
                     "model.layers end with %s, but model.loss \"slice_softmax_cross_entropy\" "
                     "needs the vector of a query and, behind it, one of an item as wide: end with "
                     "{\"concat\": [[...], [...]]} of two towers with as many units",
                     text);
}

/* The loss needs [batch, outputs], or [batch, time, outputs] with a label for each time. */
static enum tn_status check_end(const struct tn_graph *graph, const struct job *job, tn_tensor x,
                                struct error *error)
{
    char text[LAYER_SHAPE_MAX];
    struct tn_shape shape = tn_shape_of(graph, x);
    const bool sequence = job->model.loss == LOSS_SOFTMAX_CROSS_ENTROPY && shape.rank == 3;
    if (job->model.loss == LOSS_SLICE_SOFTMAX_CROSS_ENTROPY) {
        return check_towers(graph, x, error);
    }
    layer_shape_text(graph, x, text);
    if (shape.rank != 2 && !sequence) {
        return error_set(error, TN_EINVAL,
                         "model.layers end with %s, but the loss needs [batch, %" PRIu32
                         "]: end with \"flatten\" and {\"dense\": %" PRIu32 "}",
                         text, job->model.outputs, job->model.outputs);
    }
    if (shape.dims[shape.rank - 1] != job->model.outputs) {
        return error_set(error, TN_EINVAL,
                         "model.layers end with %s, but model.outputs is %" PRIu32
                         ": end with {\"dense\": %" PRIu32 "}",
                         text, job->model.outputs, job->model.outputs);
    }
    return TN_OK;
}

static enum tn_status build_layers(struct tn_graph *graph, const struct job *job,
                                   struct error *error)
{
    tn_tensor x = TN_NONE;
    enum tn_status status = job_layers_build(job, graph, shaped_inputs(graph, job), &x, error);
    if (status != TN_OK) { return status; }
    status = check_end(graph, job, x, error);
    if (status == TN_OK) { add_loss(graph, job, x); }
    return status;
}

/* The losses and outputs of a job, for the output of a file. */
static enum tn_status build_onnx(struct tn_graph *graph, const struct job *job, struct error *error)
{
    tn_tensor x = TN_NONE;
    enum tn_status status = onnx_build(job, graph, &x, error);
    if (status != TN_OK) { return status; }
    const struct tn_shape shape = tn_shape_of(graph, x);
    const bool sequence = job->model.loss == LOSS_SOFTMAX_CROSS_ENTROPY && shape.rank == 3;
    char text[LAYER_SHAPE_MAX];
    layer_shape_text(graph, x, text);
    if ((shape.rank != 2 && !sequence) || shape.dims[shape.rank - 1] != job->model.outputs) {
        return error_set(error, TN_EINVAL,
                         "model.path: %s ends with %s, but the loss needs [batch, %" PRIu32
                         "]: correct model.outputs, or end the model with Flatten and Gemm",
                         job->model.path, text, job->model.outputs);
    }
    add_loss(graph, job, x);
    return TN_OK;
}

static enum tn_status build_code(struct tn_graph *graph, const struct job *job, struct error *error)
{
    return user_model_build(job, graph, error);
}

struct type {
    const char *name;
    enum tn_status (*build)(struct tn_graph *graph, const struct job *job, struct error *error);
    const char *hidden_remedy; /* NULL: hidden layers are allowed. */
};

static const struct type types[] = {
    {"mlp", build_classifier, NULL},
    {"softmax", build_classifier, "remove them or use 'mlp'"},
    {"linear", build_linear, "remove them"},
    {"layers", build_layers, "use dense layers in model.layers"},
    {"onnx", build_onnx, "remove them"},
    {"program", build_code, "remove them"},
    {"library", build_code, "remove them"},
};

static enum tn_status check_width(const char *key, uint32_t width, uint32_t most,
                                  struct error *error)
{
    if (width >= 1 && width <= most) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s is %" PRIu32 ": give a number from 1 to %" PRIu32, key,
                     width, most);
}

/* OpenBLAS counts rows and columns by an int. */
static enum tn_status check_outputs(const struct job *job, struct error *error)
{
    const uint32_t outputs = job->model.outputs;
    if (outputs > INT32_MAX && job->train.kernels == JOB_KERNELS_OPENBLAS) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %" PRIu32 ", but train.kernels \"openblas\" computes at "
                         "most %d: use \"portable\"",
                         outputs, INT32_MAX);
    }
    if (job_classes(job) == 1) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %" PRIu32
                         ": a classifier needs 2 or more, one for each class",
                         outputs);
    }
    return check_width("model.outputs", outputs, JOB_OUTPUTS_MAX, error);
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
        status = check_width("model.hidden", job->model.hidden[i], JOB_WIDTH_MAX, error);
    }
    return status;
}

static enum tn_status check(const struct type *type, const struct job *job, struct error *error)
{
    enum tn_status status = check_width("model.inputs", job->model.inputs, JOB_WIDTH_MAX, error);
    if (status == TN_OK) { status = check_outputs(job, error); }
    return status == TN_OK ? check_hidden(type, job, error) : status;
}

static enum tn_status build(const struct type *type, const struct job *job, struct tn_graph **out,
                            struct error *error)
{
    struct tn_error text = {.text = ""};
    struct tn_graph *graph = NULL;
    enum tn_status status = check(type, job, error);
    if (status != TN_OK) { return status; }
    status = tn_graph_create(&graph, &text);
    if (status != TN_OK) { return error_set(error, status, "model: %s", text.text); }
    status = type->build(graph, job, error);
    if (status == TN_OK && tn_graph_status(graph, &text) != TN_OK) {
        status = error_set(error, text.status, "model: %s", text.text);
    }
    if (status == TN_OK) {
        *out = graph;
    } else {
        tn_graph_destroy(graph);
    }
    return status;
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
    return error_set(
        error, TN_EINVAL,
        "unknown model.type '%s': one of mlp, softmax, linear, layers, onnx, program, library",
        job->model.type);
}
