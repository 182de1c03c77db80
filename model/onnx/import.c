#include "model/onnx/import.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "model/onnx/file.h"
#include "model/onnx/node.h"
#include "onnx.pb-c.h"

/* ------------------------------------------------------------- initializers and inputs */

/* A number alone is a constant, integers are static; all others are trained. */
static void add_initializer(struct onnx_import *import, const Onnx__TensorProto *proto)
{
    struct error error = {.text = ""};
    struct onnx_value value = {.name = proto->name, .kind = ONNX_STATIC};
    if (proto->name == NULL || proto->name[0] == '\0') {
        onnx_fail(import, TN_EINVAL, "graph.initializer: one has no name: the file is damaged");
        return;
    }
    enum tn_status status = onnx_tensor_read(proto, &value.given, &error);
    if (status != TN_OK) {
        onnx_fail(import, status, "initializer '%s': %s", proto->name, error.text);
        onnx_tensor_free(&value.given);
        return;
    }
    const bool trained = value.given.floats != NULL && value.given.rank > 0;
    if (trained && value.given.count > 0) { value.kind = ONNX_INITIALIZER; }
    onnx_add(import, &value);
}

/* The shape of the input, whose first dimension is the batch. False: an error. */
static bool read_input_shape(struct onnx_import *import, const Onnx__ValueInfoProto *input,
                             struct tn_shape *out)
{
    const Onnx__TypeProto *type = input->type;
    const bool is_tensor = type != NULL &&
                           type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                           type->tensor_type->shape != NULL;
    const Onnx__TensorShapeProto *shape = is_tensor ? type->tensor_type->shape : NULL;
    if (shape == NULL || shape->n_dim < 1 || shape->n_dim > TN_RANK_MAX) {
        onnx_fail(import, TN_EINVAL,
                  "input '%s': its shape is unknown, or its rank is not 1 to %d: export the model "
                  "with fixed shapes (only the batch may vary)",
                  input->name, TN_RANK_MAX);
        return false;
    }
    *out = (struct tn_shape){.rank = (uint32_t)shape->n_dim, .dims = {TN_BATCH}};
    for (uint32_t d = 0; d < out->rank; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
        const bool known =
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            dim->dim_value >= 1 && dim->dim_value <= JOB_WIDTH_MAX;
        if (d == 0) {
            import->file_batch = known ? dim->dim_value : -1;
        } else if (known) {
            out->dims[d] = dim->dim_value;
        } else {
            onnx_fail(import, TN_EINVAL,
                      "input '%s': dimension %" PRIu32 " is not a number from 1 to %d: export the "
                      "model with fixed shapes (only the batch may vary)",
                      input->name, d, JOB_WIDTH_MAX);
            return false;
        }
    }
    return true;
}

/* Ids are the bytes of the data. */
static void add_input(struct onnx_import *import, const Onnx__ValueInfoProto *input)
{
    struct tn_shape shape;
    uint64_t numbers = 1;
    if (!read_input_shape(import, input, &shape)) { return; }
    const int32_t type = input->type->tensor_type->elem_type;
    const bool floats = type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    if (!floats && type != ONNX__TENSOR_PROTO__DATA_TYPE__INT64 &&
        type != ONNX__TENSOR_PROTO__DATA_TYPE__INT32 &&
        type != ONNX__TENSOR_PROTO__DATA_TYPE__UINT8) {
        onnx_fail(import, TN_EINVAL, "input '%s' is %s: give FLOAT, or ids of type INT64",
                  input->name, onnx_type_name(type));
        return;
    }
    for (uint32_t d = 1; d < shape.rank && numbers <= UINT32_MAX; d++) {
        numbers *= (uint64_t)shape.dims[d];
    }
    if (numbers != import->job->model.inputs) {
        onnx_fail(import, TN_EINVAL,
                  "input '%s' has %" PRIu64 " numbers per example, but model.inputs is %" PRIu32
                  ": make them equal",
                  input->name, numbers, import->job->model.inputs);
        return;
    }
    struct onnx_value value = {.name = input->name, .kind = ONNX_TENSOR, .rank = shape.rank};
    value.x = tn_placeholder(import->graph, "inputs", floats ? TN_FLOAT32 : TN_UINT8, shape);
    for (uint32_t i = 0; i < value.rank; i++) { value.order[i] = i; }
    onnx_add(import, &value);
}

/* Up to version 3 of the format, initializers are listed as inputs as well. */
static void add_inputs(struct onnx_import *import, const Onnx__GraphProto *proto)
{
    const Onnx__ValueInfoProto *input = NULL;
    for (size_t i = 0; i < proto->n_input && !onnx_failed(import); i++) {
        const Onnx__ValueInfoProto *found = proto->input[i];
        if (found->name == NULL || onnx_find(import, found->name) != NULL) { continue; }
        if (input != NULL) {
            onnx_fail(import, TN_EINVAL,
                      "the model has the inputs '%s' and '%s', but examples have one: export it "
                      "with one input",
                      input->name, found->name);
        }
        input = found;
    }
    if (input == NULL) {
        onnx_fail(import, TN_EINVAL, "graph.input: the model has no input");
    } else if (!onnx_failed(import)) {
        add_input(import, input);
    }
}

/* ------------------------------------------------------------- nodes */

static const struct onnx_operation *find_operation(const char *name)
{
    const struct onnx_operation *const tables[] = {onnx_elementwise, onnx_images,  onnx_matrices,
                                                   onnx_shapes,      onnx_indexes, onnx_norms};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        for (const struct onnx_operation *row = tables[t]; row->name != NULL; row++) {
            if (strcmp(row->name, name) == 0) { return row; }
        }
    }
    return NULL;
}

/* Whether `words`, each followed by a space, have this one. */
static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    while (words[0] != '\0') {
        const size_t size = strcspn(words, " ");
        if (size == length && strncmp(words, word, size) == 0) { return true; }
        words += size + 1;
    }
    return false;
}

static void check_input_count(struct onnx_call *call, size_t count)
{
    const uint32_t least = call->operation->inputs_least, most = call->operation->inputs_most;
    if (count < least) {
        onnx_refuse(call, "its inputs are %zu, but the operator needs at least %" PRIu32, count,
                    least);
    } else if (count > most) {
        onnx_refuse(call, "its inputs are %zu, but the operator has at most %" PRIu32, count, most);
    }
}

/* The parts of a node that every operation has. */
static void check_node(struct onnx_call *call)
{
    const Onnx__NodeProto *node = call->node;
    const struct onnx_operation *operation = call->operation;
    for (size_t i = 0; i < node->n_input; i++) {
        if (node->input[i][0] == '\0' || onnx_find(call->import, node->input[i]) != NULL) {
            continue;
        }
        onnx_refuse(call, "input %zu is '%s', which no earlier node, input or initializer defines",
                    i, node->input[i]);
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        const char *name = node->attribute[i]->name != NULL ? node->attribute[i]->name : "";
        if (has_word(operation->attributes, name)) { continue; }
        onnx_refuse(call, "attribute '%s' is not supported: export the model without it", name);
    }
    check_input_count(call, node->n_input);
}

static void check_operation(struct onnx_call *call)
{
    const char *name = call->node->op_type != NULL ? call->node->op_type : "";
    const char *domain = call->node->domain != NULL ? call->node->domain : "";
    call->operation = find_operation(name);
    if (domain[0] != '\0' && strcmp(domain, "ai.onnx") != 0) {
        onnx_refuse(call,
                    "operators of the domain '%s' are not supported: export the model with "
                    "plain operators",
                    domain);
    } else if (call->operation == NULL) {
        onnx_refuse(call, "this operator is not supported: docs/onnx.md lists those that are");
    } else if (call->operation->build == NULL) {
        onnx_refuse(call, "this operator is not supported: %s", call->operation->remedy);
    }
}

static void build_node(struct onnx_import *import, const Onnx__NodeProto *node, uint32_t number)
{
    struct tn_error text = {.text = ""};
    struct onnx_call call = {.import = import, .graph = import->graph, .node = node};
    call.number = number;
    check_operation(&call);
    if (!onnx_failed(import)) { check_node(&call); }
    if (!onnx_failed(import)) { call.operation->build(&call); }
    enum tn_status status = tn_graph_status(import->graph, &text);
    if (status != TN_OK) { onnx_fail(import, status, "%s", text.text); }
    if (!onnx_failed(import)) { return; }
    const bool named = node->name != NULL && node->name[0] != '\0';
    (void)error_context(&import->error, "node %" PRIu32 " '%s' (%s, opset %" PRId64 ")", number,
                        named ? node->name : "", node->op_type != NULL ? node->op_type : "",
                        import->opset);
}

/* ------------------------------------------------------------- the output */

/* Whether the loss computes this operation itself. */
static bool is_part_of_loss(enum onnx_last last, const struct job *job)
{
    switch (last) {
    case ONNX_LAST_SOFTMAX: return job->model.loss == LOSS_SOFTMAX_CROSS_ENTROPY;
    case ONNX_LAST_SIGMOID: return job->model.loss == LOSS_SIGMOID_CROSS_ENTROPY;
    case ONNX_LAST_OTHER: break;
    }
    return false;
}

static tn_tensor find_output(struct onnx_import *import, const Onnx__GraphProto *proto)
{
    struct tn_error text = {.text = ""};
    if (onnx_failed(import)) { return TN_NONE; }
    if (proto->n_output != 1) {
        onnx_fail(import, TN_EINVAL,
                  "graph.output: the model has %zu outputs: export it with one output",
                  proto->n_output);
        return TN_NONE;
    }
    const char *name = proto->output[0]->name != NULL ? proto->output[0]->name : "";
    struct onnx_value *value = onnx_find(import, name);
    if (value == NULL) {
        onnx_fail(import, TN_EINVAL,
                  "graph.output: no node computes the output '%s': give the name of a result",
                  name);
        return TN_NONE;
    }
    if (is_part_of_loss(value->last, import->job)) { value->x = value->logits; }
    tn_tensor output = onnx_plain(import, value);
    const enum tn_status status = tn_graph_status(import->graph, &text);
    if (status != TN_OK) { onnx_fail(import, status, "graph.output '%s': %s", name, text.text); }
    return output;
}

static void check_freeze(struct onnx_import *import)
{
    for (uint32_t i = 0; i < import->job->model.freeze_count; i++) {
        if (import->frozen[i]) { continue; }
        onnx_fail(import, TN_EINVAL,
                  "model.freeze[%" PRIu32 "] is \"%s\", which matches none of the variables: "
                  "`tanist graph` lists their names",
                  i, import->job->model.freeze[i]);
    }
}

static size_t count_values(const Onnx__GraphProto *proto)
{
    size_t count = proto->n_initializer + 1;
    for (size_t i = 0; i < proto->n_node; i++) { count += proto->node[i]->n_output; }
    return count;
}

enum tn_status onnx_import(const struct onnx_file *file, const struct job *job,
                           struct tn_graph *graph, tn_tensor *out, struct error *error)
{
    const Onnx__GraphProto *proto = file->proto->graph;
    struct onnx_import import = {.job = job, .graph = graph, .opset = file->opset};
    enum tn_status status = onnx_values_open(&import, count_values(proto), error);
    for (size_t i = 0; i < proto->n_initializer && status == TN_OK; i++) {
        if (onnx_failed(&import)) { break; }
        add_initializer(&import, proto->initializer[i]);
    }
    if (status == TN_OK && !onnx_failed(&import)) { add_inputs(&import, proto); }
    for (size_t i = 0; i < proto->n_node && status == TN_OK; i++) {
        if (onnx_failed(&import)) { break; }
        build_node(&import, proto->node[i], (uint32_t)i);
    }
    if (status == TN_OK) {
        *out = find_output(&import, proto);
        check_freeze(&import);
        status = import.error.status;
        utf8_plain(import.error.text);
        if (status != TN_OK) { (void)error_set(error, status, "%s", import.error.text); }
    }
    onnx_values_close(&import);
    return status;
}

enum tn_status onnx_build(const struct job *job, struct tn_graph *graph, tn_tensor *out,
                          struct error *error)
{
    struct onnx_file file;
    assert(job != NULL && graph != NULL && out != NULL);
    enum tn_status status = onnx_file_open(job->model.path, &file, error);
    if (status != TN_OK) { return status; }
    status = onnx_import(&file, job, graph, out, error);
    if (status != TN_OK) { (void)error_context(error, "model.path: %s", job->model.path); }
    onnx_file_close(&file);
    return status;
}
