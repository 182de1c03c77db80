#include "model/export/onnx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/canonical.h"
#include "graph/ops/ops.h"
#include "model/export/onnx_builder.h"
#include "model/export/onnx_columns.h"
#include "model/export/onnx_operators.h"
#include "model/export/onnx_tables.h"

#define FILE_MAX ((size_t)INT32_MAX) /* A message of protobuf. */

struct work {
    const struct onnx_export *given;
    struct to_onnx_builder builder;
    const char **names; /* By node: of its output 0. NULL: no output depends on the node. */
    bool *wanted;       /* By node. */
    size_t output_capacity;
};

static enum tn_status refuse(struct work *work, const struct node *node, const char *why)
{
    return error_set(&work->builder.error, TN_EINVAL,
                     "operation %s%s%s cannot be written as ONNX%s: export .safetensors or .npz",
                     node->op->name, *node->scope != '\0' ? " in " : "", node->scope, why);
}

/* ---------------------------------------------------------------- inputs and outputs */

static void add_output(struct work *work, const char *name, const struct tn_shape *shape)
{
    struct to_onnx_builder *builder = &work->builder;
    to_onnx_append(builder, (void ***)&builder->proto->output, &builder->proto->n_output,
                   &work->output_capacity,
                   to_onnx_value(builder, name, to_onnx_type_of(TN_FLOAT32), shape));
}

static void write_head(struct work *work, const char *logits, const struct tn_shape *shape)
{
    struct to_onnx_builder *builder = &work->builder;
    const bool two = work->given->head == ONNX_SIGMOID;
    (void)to_onnx_node1(builder, two ? "Sigmoid" : "Softmax", logits, "probabilities");
    if (!two) { to_onnx_attribute_int(builder, "axis", -1); }
    add_output(work, "probabilities", shape);
}

static void write_outputs(struct work *work)
{
    const struct tn_graph *graph = work->builder.graph;
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        const struct mark *mark = &graph->marks[i];
        if (mark->kind != MARK_OUTPUT) { continue; }
        const char *name = to_onnx_keep_text(&work->builder, mark->name);
        const char *value = work->names[tensor_node(mark->value)];
        const struct tn_shape *shape = shape_of(graph, mark->value);
        (void)to_onnx_node1(&work->builder, "Identity", value, name);
        add_output(work, name, shape);
        const bool logits = strcmp(mark->name, "logits") == 0;
        if (logits && work->given->head != ONNX_NO_HEAD) { write_head(work, value, shape); }
    }
    if (work->builder.proto->n_output > 0 || work->builder.error.status != TN_OK) { return; }
    (void)error_set(&work->builder.error, TN_EINVAL,
                    "the model names no output: name one with tn_output(), or export .safetensors");
}

/* ---------------------------------------------------------------------------- nodes */

static const char *write_input(struct work *work, const struct node *node)
{
    struct to_onnx_builder *builder = &work->builder;
    const char *name = to_onnx_keep_text(builder, node->attributes.name);
    const char *x = NULL, *columns = work->given->columns;
    if (columns != NULL && strcmp(name, "inputs") == 0) {
        x = onnx_columns_write(builder, columns);
    }
    if (columns != NULL && strcmp(name, "keys") == 0) {
        x = onnx_columns_write_keys(builder, columns);
    }
    if (x != NULL || builder->error.status != TN_OK) { return x; }
    to_onnx_input(builder, name, to_onnx_type_of(node->types[0]), &node->shapes[0]);
    return name;
}

static const char *write_variable(struct work *work, const struct node *node)
{
    const struct variable_table *table = work->given->table;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct variable *variable = &table->variables[i];
        if (strcmp(variable->name, node->attributes.name) != 0) { continue; }
        return to_onnx_initializer(&work->builder,
                                   to_onnx_keep_text(&work->builder, variable->name), TN_FLOAT32,
                                   &node->shapes[0], work->given->values + variable->offset,
                                   variable->count * sizeof(float));
    }
    return NULL;
}

/* The table of a node, or the one that a lookup reads. */
static uint32_t table_of(const struct work *work, const struct node *node)
{
    const struct variable_table *table = work->given->table;
    uint32_t i = 0;
    if (node->op == &op_lookup) { node = node_of(work->builder.graph, node->inputs[0]); }
    while (strcmp(table->row_tables[i].name, node->attributes.name) != 0) {
        i++;
        assert(i < table->row_table_count);
    }
    assert(work->given->rows != NULL);
    return i;
}

static const char *write_table(struct work *work, const struct node *node)
{
    const uint32_t i = table_of(work, node);
    return onnx_table_write(&work->builder, &work->given->table->row_tables[i],
                            &work->given->rows[i]);
}

static const char *write_lookup(struct work *work, const struct node *node, const char *const *in)
{
    const uint64_t rows = work->given->rows[table_of(work, node)].count;
    assert(node->input_count == 2);
    return onnx_lookup_write(&work->builder, node, in[0], rows, in[1]);
}

static const char *write_leaf(struct work *work, const struct node *node, const char *const *in)
{
    const struct attributes *attributes = &node->attributes;
    if (node->op == &op_placeholder) { return write_input(work, node); }
    if (node->op == &op_variable) { return write_variable(work, node); }
    if (node->op == &op_table) { return write_table(work, node); }
    if (node->op == &op_lookup) { return write_lookup(work, node, in); }
    if (node->op != &op_constant) { return NULL; }
    return to_onnx_initializer(&work->builder, NULL, node->types[0], &node->shapes[0],
                               attributes->data, attributes->data_bytes);
}

static const struct to_onnx_operator *find_operator(const struct op_type *op)
{
    static const struct to_onnx_operator *const families[] = {to_onnx_elementwise, to_onnx_arrange,
                                                              to_onnx_images, to_onnx_tables};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (const struct to_onnx_operator *at = families[f]; at->op != NULL; at++) {
            if (at->op == op) { return at; }
        }
    }
    return NULL;
}

static enum tn_status write_node(struct work *work, uint32_t number)
{
    struct to_onnx_builder *builder = &work->builder;
    const struct node *node = &builder->graph->nodes[number];
    const struct to_onnx_operator *operator= find_operator(node->op);
    const char *in[OP_INPUTS_MAX] = {NULL}, **out = &work->names[number];
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (tensor_output(node->inputs[i]) != 0) {
            return refuse(work, node, ", because it reads a second result of another one");
        }
        in[i] = work->names[tensor_node(node->inputs[i])];
    }
    if (node->op->traits.leaf) {
        *out = write_leaf(work, node, in);
    } else if (operator!= NULL && operator->write != NULL) {
        *out = operator->write(builder, node, in);
    } else if (operator!= NULL) {
        *out = to_onnx_node(builder, operator->name, in, node->input_count, NULL);
    }
    if (builder->error.status != TN_OK) { return builder->error.status; }
    return *out != NULL ? TN_OK : refuse(work, node, "");
}

/* Inputs precede their readers. */
static void find_wanted(struct work *work)
{
    const struct tn_graph *graph = work->builder.graph;
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        if (graph->marks[i].kind != MARK_OUTPUT) { continue; }
        work->wanted[tensor_node(graph->marks[i].value)] = true;
    }
    for (uint32_t number = graph->count; number-- > 0;) {
        const struct node *node = &graph->nodes[number];
        for (uint32_t i = 0; work->wanted[number] && i < node->input_count; i++) {
            work->wanted[tensor_node(node->inputs[i])] = true;
        }
    }
}

static enum tn_status build(struct work *work)
{
    const uint32_t count = work->builder.graph->count;
    enum tn_status status = work->builder.error.status;
    find_wanted(work);
    for (uint32_t number = 0; number < count && status == TN_OK; number++) {
        if (work->wanted[number]) { status = write_node(work, number); }
    }
    if (status == TN_OK) { write_outputs(work); }
    return work->builder.error.status;
}

/* ----------------------------------------------------------------------------- file */

/* A buffer of protobuf-c that writes to a file. */
struct sink {
    ProtobufCBuffer base;
    struct partial_file *file;
};

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *data)
{
    struct sink *sink = (struct sink *)base;
    partial_file_write(sink->file, data, size);
}

static void add_facts(struct to_onnx_builder *builder, Onnx__ModelProto *model,
                      const struct export_fact *facts)
{
    size_t capacity = 0;
    for (; facts->key != NULL; facts++) {
        Onnx__StringStringEntryProto *entry = to_onnx_keep(builder, sizeof *entry);
        if (entry == NULL) { return; }
        onnx__string_string_entry_proto__init(entry);
        entry->key = (char *)(uintptr_t)facts->key;
        entry->value = (char *)(uintptr_t)facts->value;
        to_onnx_append(builder, (void ***)&model->metadata_props, &model->n_metadata_props,
                       &capacity, entry);
    }
    for (size_t i = 0; i < builder->note_count; i++) {
        to_onnx_append(builder, (void ***)&model->metadata_props, &model->n_metadata_props,
                       &capacity, builder->notes[i]);
    }
}

static enum tn_status write_model(struct work *work, struct partial_file *file)
{
    struct to_onnx_builder *builder = &work->builder;
    char producer[] = "tanist", version[] = TANIST_VERSION, domain[] = "";
    char ml_domain[] = "ai.onnx.ml";
    Onnx__OperatorSetIdProto set = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    Onnx__OperatorSetIdProto ml_set = ONNX__OPERATOR_SET_ID_PROTO__INIT, *sets[] = {&set, &ml_set};
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    struct sink sink = {.base = {.append = append}, .file = file};
    set.domain = domain;
    set.has_version = true;
    set.version = ONNX_EXPORT_OPSET;
    ml_set.domain = ml_domain;
    ml_set.has_version = true;
    ml_set.version = ONNX_EXPORT_ML_OPSET;
    model.has_ir_version = true;
    model.ir_version = ONNX_EXPORT_IR;
    model.n_opset_import = builder->uses_ml ? 2 : 1;
    model.opset_import = sets;
    model.producer_name = producer;
    model.producer_version = version;
    model.graph = builder->proto;
    model.graph->name = (char *)(uintptr_t)to_onnx_keep_text(builder, work->given->name);
    add_facts(builder, &model, work->given->facts);
    if (builder->error.status != TN_OK) { return builder->error.status; }
    if (onnx__model_proto__get_packed_size(&model) > FILE_MAX) {
        return error_set(&builder->error, TN_EINVAL,
                         "the model is too large for an ONNX file, which has less than 2 GiB: "
                         "export .safetensors");
    }
    (void)onnx__model_proto__pack_to_buffer(&model, &sink.base);
    return TN_OK;
}

enum tn_status export_onnx(const struct onnx_export *given, struct partial_file *file,
                           struct error *error)
{
    struct tn_graph *graph = NULL;
    assert(given->values != NULL && given->facts != NULL);
    enum tn_status status = graph_canonical(given->graph, true, &graph, error);
    if (status != TN_OK) { return status; }
    struct work work = {.given = given};
    to_onnx_builder_open(&work.builder, graph);
    work.names = to_onnx_keep(&work.builder, (graph->count + 1) * sizeof *work.names);
    work.wanted = to_onnx_keep(&work.builder, (graph->count + 1) * sizeof *work.wanted);
    status = work.builder.error.status;
    if (status == TN_OK) { status = build(&work); }
    if (status == TN_OK) { status = write_model(&work, file); }
    if (status != TN_OK) { (void)error_set(error, status, "%s", work.builder.error.text); }
    to_onnx_builder_close(&work.builder);
    tn_graph_destroy(graph);
    return status;
}
