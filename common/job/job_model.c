#include "common/job/job_model.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static bool has_type(const struct job *job, const char *type)
{
    assert(job != NULL);
    return strcmp(job->model.type, type) == 0;
}

bool job_has_rows(const struct job *job)
{
    return job->data.format[0] != '\0' || strcmp(job->data.type, "criteo-like") == 0;
}

bool job_has_code(const struct job *job)
{
    return has_type(job, "program") || has_type(job, "library");
}

uint32_t job_classes(const struct job *job)
{
    if (has_type(job, "linear")) { return 0; }
    const bool has_loss = has_type(job, "layers") || has_type(job, "onnx") || job_has_code(job);
    if (!has_loss) { return job->model.outputs; }
    switch (job->model.loss) {
    case LOSS_SOFTMAX_CROSS_ENTROPY: return job->model.outputs;
    case LOSS_SIGMOID_CROSS_ENTROPY: return job->model.targets == TARGETS_DATA ? 2 : 0;
    case LOSS_SLICE_SOFTMAX_CROSS_ENTROPY: return 2;
    case LOSS_SQUARED_ERROR:
    case LOSS_ABSOLUTE_ERROR:
    case LOSS_HUBER_ERROR: break;
    }
    return 0;
}

bool job_is_regression(const struct job *job)
{
    return job_classes(job) == 0;
}

/* A key of `layers` that another type would ignore; NULL: there is none. */
static const char *key_of_layers(const struct job *job)
{
    if (job->model.layers[0] != '\0') { return "model.layers"; }
    if (job->model.shape_count > 0) { return "model.shape"; }
    if (job->model.loss != LOSS_SOFTMAX_CROSS_ENTROPY) { return "model.loss"; }
    if (job->model.targets != TARGETS_DATA) { return "model.targets"; }
    return job->model.label_smoothing != 0 ? "model.label_smoothing" : NULL;
}

static enum tn_status check_other_type(const struct job *job, struct error *error)
{
    const char *key = key_of_layers(job);
    if (key == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s is given, but model.type is \"%s\": remove it, or give model.type "
                     "\"layers\"",
                     key, job->model.type);
}

/* The pairs of model.map, and that they have a file to be applied to. */
static enum tn_status check_map(const struct job *job, struct error *error)
{
    if (job->model.map_count > 0 && job->model.warm_start[0] == '\0') {
        return error_set(error, TN_EINVAL,
                         "model.map is given, but no model.warm_start: give both, or none");
    }
    for (uint32_t i = 0; i < job->model.map_count; i++) {
        const char *pair = job->model.map[i], *equals = strchr(pair, '=');
        const char *right = equals != NULL ? equals + 1 : "";
        const char *first = strchr(pair, '*'), *last = strchr(right, '*');
        const bool left = first != NULL && first < right;
        const bool again = (left && memchr(first + 1, '*', (size_t)(right - first) - 1) != NULL) ||
                           (last != NULL && strchr(last + 1, '*') != NULL);
        if (equals != NULL && *right != '\0' && equals != pair && !again &&
            (last == NULL || left)) {
            continue;
        }
        return error_set(error, TN_EINVAL,
                         "model.map[%" PRIu32 "] is \"%s\": give variables=tensors with at most "
                         "one * on each side, as hidden1/*=encoder/*",
                         i, pair);
    }
    return TN_OK;
}

/* The keys that only models of C code have; ONNX files have a path, too. */
static enum tn_status check_without_code(const struct job *job, struct error *error)
{
    const bool onnx = has_type(job, "onnx");
    const char *key = job->model.options[0] != '\0'         ? "model.options"
                      : !onnx && job->model.path[0] != '\0' ? "model.path"
                                                            : NULL;
    if (key == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s is given, but model.type is \"%s\", which has no code: remove it, or give "
                     "model.type \"library\"",
                     key, job->model.type);
}

/* The keys of two towers; slices of several examples, whose items are compared. */
static enum tn_status check_slice_softmax(const struct job *job, struct error *error)
{
    static const char loss[] = "model.loss \"slice_softmax_cross_entropy\"";
    if (job->model.loss != LOSS_SLICE_SOFTMAX_CROSS_ENTROPY) { return TN_OK; }
    if (has_type(job, "onnx")) {
        return error_set(error, TN_EINVAL,
                         "%s compares two towers, which model.type \"onnx\" does not have: give "
                         "model.type \"layers\", or another loss",
                         loss);
    }
    if (job->model.targets == TARGETS_INPUTS) {
        return error_set(error, TN_EINVAL,
                         "model.targets is \"inputs\", but %s needs labels, 1 where query and "
                         "item belong together: remove it",
                         loss);
    }
    if (job->model.outputs != 1) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %" PRIu32 ", but with %s the output is the score of a "
                         "query and an item: give model.outputs 1",
                         job->model.outputs, loss);
    }
    if (job->train.slices < job->train.batch) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "train.slices is %" PRIu32 " and train.batch %" PRIu32 ", but %s compares the "
                     "examples of a slice: give fewer slices",
                     job->train.slices, job->train.batch, loss);
}

/* The loss, and where its targets come from. */
static enum tn_status check_loss(const struct job *job, struct error *error)
{
    bool inputs = job->model.targets == TARGETS_INPUTS;
    bool sigmoid = job->model.loss == LOSS_SIGMOID_CROSS_ENTROPY;
    if (job->model.label_smoothing != 0 && job->model.loss != LOSS_SOFTMAX_CROSS_ENTROPY) {
        return error_set(error, TN_EINVAL,
                         "model.label_smoothing is %g, but model.loss has no labels that it could "
                         "smooth: remove it, or give model.loss \"softmax_cross_entropy\"",
                         job->model.label_smoothing);
    }
    if (sigmoid && !inputs && job->model.outputs != 1) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %" PRIu32 ", but model.loss \"sigmoid_cross_entropy\" "
                         "separates two classes by one number: give model.outputs 1, model.loss "
                         "\"softmax_cross_entropy\", or model.targets \"inputs\"",
                         job->model.outputs);
    }
    if (!inputs || job->model.loss == LOSS_SLICE_SOFTMAX_CROSS_ENTROPY) {
        return check_slice_softmax(job, error);
    }
    if (job->model.loss == LOSS_SOFTMAX_CROSS_ENTROPY) {
        return error_set(error, TN_EINVAL,
                         "model.targets is \"inputs\", but model.loss \"softmax_cross_entropy\" "
                         "needs labels: give model.loss \"squared_error\"");
    }
    if (job->model.outputs != job->model.inputs) {
        return error_set(error, TN_EINVAL,
                         "model.targets is \"inputs\", but model.outputs is %" PRIu32
                         ": give model.outputs %" PRIu32 ", which model.inputs is",
                         job->model.outputs, job->model.inputs);
    }
    if (sigmoid && strcmp(job->data.type, "synthetic") == 0) {
        return error_set(error, TN_EINVAL,
                         "model.loss \"sigmoid_cross_entropy\" needs targets from 0 to 1, but "
                         "inputs of data.type \"synthetic\" are any numbers: give model.loss "
                         "\"squared_error\"");
    }
    return TN_OK;
}

static enum tn_status check_layers(const struct job *job, struct error *error)
{
    uint64_t product = 1;
    if (job->model.layers[0] == '\0') {
        return error_set(error, TN_EINVAL,
                         "model.layers is empty: model.type \"layers\" needs a list of layers");
    }
    if (job->model.hidden_count > 0) {
        return error_set(error, TN_EINVAL,
                         "model.hidden is given, but model.type is \"layers\": use "
                         "{\"dense\": {\"units\": %" PRIu32 ", \"activation\": \"relu\"}} in "
                         "model.layers",
                         job->model.hidden[0]);
    }
    for (uint32_t i = 0; i < job->model.shape_count && product <= UINT32_MAX; i++) {
        product *= job->model.shape[i];
    }
    if (job->model.shape_count > 0 && product != job->model.inputs) {
        return error_set(error, TN_EINVAL,
                         "model.inputs is %" PRIu32 ", but the product of model.shape is %" PRIu64
                         ": give model.inputs %" PRIu64,
                         job->model.inputs, product, product);
    }
    return check_loss(job, error);
}

static enum tn_status check_onnx(const struct job *job, struct error *error)
{
    const char *key = job->model.hidden_count > 0    ? "model.hidden"
                      : job->model.layers[0] != '\0' ? "model.layers"
                      : job->model.shape_count > 0   ? "model.shape"
                                                     : NULL;
    if (key != NULL) {
        return error_set(error, TN_EINVAL,
                         "%s is given, but model.type is \"onnx\", whose network is in the file: "
                         "remove it",
                         key);
    }
    if (job->model.path[0] == '\0') {
        return error_set(error, TN_EINVAL,
                         "model.path is empty: model.type \"onnx\" needs the name of a file");
    }
    return check_loss(job, error);
}

/* A key that models of C code ignore; NULL: there is none. */
static const char *key_of_no_code(const struct job *job)
{
    if (job->model.hidden_count > 0) { return "model.hidden"; }
    if (job->model.layers[0] != '\0') { return "model.layers"; }
    if (job->model.shape_count > 0) { return "model.shape"; }
    return job->model.label_smoothing != 0 ? "model.label_smoothing" : NULL;
}

static enum tn_status check_code(const struct job *job, struct error *error)
{
    const char *key = key_of_no_code(job);
    const bool needs_path = has_type(job, "library");
    if (needs_path != (job->model.path[0] != '\0')) {
        return error_set(error, TN_EINVAL, "model.path is \"%s\", but model.type is \"%s\": %s",
                         job->model.path, job->model.type,
                         needs_path ? "give the file of the shared library" : "remove it");
    }
    if (key == NULL) { return check_loss(job, error); }
    return error_set(error, TN_EINVAL,
                     "%s is given, but a model of type \"%s\" is built by its code: remove it, or "
                     "pass it in model.options",
                     key, job->model.type);
}

enum tn_status job_check_model(const struct job *job, struct error *error)
{
    if (job_has_program() && !has_type(job, "program")) {
        return error_set(error, TN_EINVAL,
                         "model.type is \"%s\", but this program brings a model of its own: remove "
                         "the keys of the model from the job, or use `tanist`",
                         job->model.type);
    }
    if (has_type(job, "mlp") && job->model.hidden_count == 0) {
        return error_set(error, TN_EINVAL,
                         "model.hidden is empty: an mlp needs at least one hidden "
                         "layer; without one use model.type \"softmax\"");
    }
    if (job_classes(job) == 1) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %" PRIu32
                         ": a classifier has at least 2 classes; give 2 or more",
                         job->model.outputs);
    }
    const bool typed = job->data.format[0] == '\0';
    bool idx = typed && strcmp(job->data.type, "idx") == 0;
    if ((idx || strcmp(job->data.type, "text") == 0) && job->data.path[0] == '\0') {
        return error_set(error, TN_EINVAL, "data.path is empty: give the %s",
                         idx ? "folder of the IDX files" : "name of a text file");
    }
    if (has_type(job, "linear") && idx) {
        return error_set(error, TN_EINVAL,
                         "model.type is \"linear\" but the labels of \"idx\" data "
                         "are classes: use \"softmax\" or \"mlp\"");
    }
    enum tn_status status = check_map(job, error);
    if (status != TN_OK) { return status; }
    if (job_has_code(job)) { return check_code(job, error); }
    status = check_without_code(job, error);
    if (status != TN_OK) { return status; }
    if (has_type(job, "onnx")) { return check_onnx(job, error); }
    return has_type(job, "layers") ? check_layers(job, error) : check_other_type(job, error);
}
