#include "graph/encoding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "graph/core/build.h"
#include "graph/encoding_rules.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"

static const uint8_t magic[4] = {'T', 'N', 'G', 'R'};

/* ------------------------------------------------------------------------- writing */

static void put_shape(struct byte_writer *writer, const struct tn_shape *shape)
{
    bytes_put_number(writer, shape->rank, 1);
    for (uint32_t i = 0; i < shape->rank; i++) {
        bytes_put_number(writer, (uint64_t)shape->dims[i], sizeof(uint64_t));
    }
}

static void put_attributes(struct byte_writer *writer, const struct attributes *attributes)
{
    uint32_t used = OP_INTEGERS_MAX;
    while (used > 0 && attributes->integers[used - 1] == 0) { used--; }
    bytes_put_number(writer, used, 1);
    for (uint32_t i = 0; i < used; i++) {
        bytes_put_number(writer, (uint64_t)attributes->integers[i], sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < OP_NUMBERS_MAX; i++) {
        uint64_t bits;
        memcpy(&bits, &attributes->numbers[i], sizeof bits);
        bytes_put_number(writer, bits, sizeof bits);
    }
    put_shape(writer, &attributes->shape);
    bytes_put_number(writer, attributes->type, 1);
    bytes_put_text(writer, attributes->name);
    bytes_put_number(writer, attributes->data_bytes, sizeof(uint64_t));
    bytes_put(writer, attributes->data, attributes->data_bytes);
}

static void put_node(struct byte_writer *writer, const struct node *node)
{
    bytes_put_text(writer, node->op->name);
    bytes_put_number(writer, node->op->version, sizeof(uint32_t));
    bytes_put_number(writer, node->input_count, 1);
    for (uint32_t i = 0; i < node->input_count; i++) {
        bytes_put_number(writer, node->inputs[i].v, sizeof(uint32_t));
    }
    put_attributes(writer, &node->attributes);
    bytes_put_text(writer, node->scope);
}

static enum tn_status check_nodes(const struct tn_graph *graph, struct error *error)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        const char *fault = encoding_fault(graph, node);
        if (fault == NULL) { continue; }
        const char *name = node->attributes.name != NULL ? node->attributes.name : node->scope;
        return error_set(error, TN_EINVAL, "operation '%s' of '%s': %s: leave it out",
                         node->op->name, name, fault);
    }
    return TN_OK;
}

enum tn_status graph_encode(const struct tn_graph *graph, uint8_t **out, size_t *size,
                            struct error *error)
{
    assert(graph != NULL && out != NULL && size != NULL);
    struct byte_writer writer = {.bytes = NULL};
    uint32_t outputs = 0;
    *out = NULL;
    if (graph->error.status != TN_OK) {
        return error_set(error, graph->error.status, "%s", graph->error.text);
    }
    enum tn_status status = check_nodes(graph, error);
    if (status != TN_OK) { return status; }
    bytes_put(&writer, magic, sizeof magic);
    bytes_put_number(&writer, GRAPH_ENCODING_VERSION, sizeof(uint32_t));
    bytes_put_number(&writer, graph->count, sizeof(uint32_t));
    for (uint32_t i = 0; i < graph->count; i++) { put_node(&writer, &graph->nodes[i]); }
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        outputs += graph->marks[i].kind == MARK_OUTPUT;
    }
    bytes_put_number(&writer, outputs, sizeof(uint32_t));
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        if (graph->marks[i].kind != MARK_OUTPUT) { continue; }
        bytes_put_text(&writer, graph->marks[i].name);
        bytes_put_number(&writer, graph->marks[i].value.v, sizeof(uint32_t));
    }
    if (writer.failed) {
        free(writer.bytes);
        return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    *out = writer.bytes;
    *size = writer.size;
    return TN_OK;
}

/* ------------------------------------------------------------------------- reading */

static void take_shape(struct byte_reader *reader, struct tn_shape *shape)
{
    shape->rank = (uint32_t)bytes_take_count(reader, 1, TN_RANK_MAX, "a rank is too large");
    for (uint32_t i = 0; i < shape->rank; i++) {
        shape->dims[i] = (int64_t)bytes_take_number(reader, sizeof(uint64_t));
    }
}

/* Texts and data are kept by the graph. */
static void take_attributes(struct byte_reader *reader, struct tn_graph *graph,
                            struct attributes *attributes)
{
    char name[GRAPH_PATH_MAX];
    const uint32_t used =
        (uint32_t)bytes_take_count(reader, 1, OP_INTEGERS_MAX, "it has too many integers");
    for (uint32_t i = 0; i < used; i++) {
        attributes->integers[i] = (int64_t)bytes_take_number(reader, sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < OP_NUMBERS_MAX; i++) {
        const uint64_t bits = bytes_take_number(reader, sizeof bits);
        memcpy(&attributes->numbers[i], &bits, sizeof bits);
    }
    take_shape(reader, &attributes->shape);
    attributes->type =
        (enum tn_type)(uint32_t)bytes_take_count(reader, 1, TN_UINT8, "unknown type");
    bytes_take_text(reader, name, sizeof name);
    const uint64_t bytes = bytes_take_number(reader, sizeof bytes);
    const uint8_t *data = bytes_take(reader, bytes);
    if (reader->fault != NULL) { return; }
    if (name[0] != '\0') { attributes->name = graph_keep_text(graph, name); }
    if (bytes > 0) {
        attributes->data = graph_keep(graph, data, (size_t)bytes);
        attributes->data_bytes = (size_t)bytes;
    }
}

static void take_inputs(struct byte_reader *reader, const struct tn_graph *graph, struct node *node)
{
    node->input_count =
        (uint32_t)bytes_take_count(reader, 1, OP_INPUTS_MAX, "it has too many inputs");
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint64_t v = bytes_take_number(reader, sizeof(uint32_t));
        if (v == 0 || v > (uint64_t)graph->count * OP_OUTPUTS_MAX) {
            reader->fault = "an input is not a value before it";
            return;
        }
        node->inputs[i] = (tn_tensor){(uint32_t)v};
        if (tensor_output(node->inputs[i]) >= node_of(graph, node->inputs[i])->op->outputs) {
            reader->fault = "an input is not an output of its operation";
            return;
        }
    }
}

static bool constant_fits(const struct attributes *attributes)
{
    const uint64_t count = (uint64_t)shape_elements(&attributes->shape);
    return attributes->data != NULL &&
           attributes->data_bytes == count * type_size(attributes->type, false);
}

/* Complete the attributes that only one kind of leaf has. */
static const char *complete_leaf(struct tn_graph *graph, struct node *node)
{
    static const struct tn_variable_options options = {.init = TN_INIT_ZEROS};
    struct attributes *attributes = &node->attributes;
    if (node->op == &op_constant && !constant_fits(attributes)) {
        return "its data do not fit its shape";
    }
    if (node->op != &op_constant && attributes->data != NULL) { return "it has data"; }
    if (node->op != &op_variable) { return NULL; }
    if (graph->variable_count++ == TN_VARIABLES_MAX) { return "there are too many variables"; }
    attributes->variable = &options;
    return NULL;
}

static void take_node(struct byte_reader *reader, struct tn_graph *graph)
{
    char name[GRAPH_PATH_MAX];
    struct node node = {.op = NULL};
    bytes_take_text(reader, name, sizeof name);
    const uint64_t version = bytes_take_number(reader, sizeof(uint32_t));
    if (reader->fault != NULL) { return; }
    node.op = op_find(name);
    if (node.op == NULL || node.op->version != version) {
        reader->fault = "unknown operation, or another version of it: use one release of Tanist";
        return;
    }
    take_inputs(reader, graph, &node);
    take_attributes(reader, graph, &node.attributes);
    bytes_take_text(reader, name, sizeof name);
    if (reader->fault != NULL || graph->error.status != TN_OK) { return; }
    if (node.input_count < node.op->inputs_min || node.input_count > node.op->inputs_max) {
        reader->fault = "it has a wrong number of inputs";
        return;
    }
    reader->fault = encoding_fault(graph, &node);
    if (reader->fault == NULL) { reader->fault = complete_leaf(graph, &node); }
    if (reader->fault != NULL) { return; }
    memcpy(graph->scope, name, strlen(name) + 1);
    graph_add(graph, node.op, node.inputs, node.input_count, &node.attributes);
}

static void take_outputs(struct byte_reader *reader, struct tn_graph *graph)
{
    char name[GRAPH_PATH_MAX];
    const uint32_t count = (uint32_t)bytes_take_count(reader, sizeof(uint32_t), GRAPH_MARKS_MAX,
                                                      "there are too many outputs");
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++) {
        bytes_take_text(reader, name, sizeof name);
        const uint64_t v = bytes_take_number(reader, sizeof(uint32_t));
        const bool known = v != 0 && v <= (uint64_t)graph->count * OP_OUTPUTS_MAX &&
                           tensor_output((tn_tensor){(uint32_t)v}) <
                               node_of(graph, (tn_tensor){(uint32_t)v})->op->outputs;
        if (reader->fault == NULL && !known) { reader->fault = "an output is not a value"; }
        if (reader->fault == NULL) { tn_output(graph, name, (tn_tensor){(uint32_t)v}); }
    }
    if (reader->fault == NULL && reader->at != reader->size) { reader->fault = "bytes follow it"; }
}

static enum tn_status take_graph(struct byte_reader *reader, struct tn_graph *graph,
                                 struct error *error)
{
    const uint8_t *begin = bytes_take(reader, sizeof magic);
    if (begin == NULL || memcmp(begin, magic, sizeof magic) != 0) {
        return error_set(error, TN_EINVAL, "it is not an encoded graph");
    }
    const uint64_t version = bytes_take_number(reader, sizeof(uint32_t));
    if (version != GRAPH_ENCODING_VERSION) {
        return error_set(error, TN_EINVAL,
                         "the encoded graph has version %" PRIu64
                         ", and this release reads %d: use one release of Tanist",
                         version, GRAPH_ENCODING_VERSION);
    }
    const uint32_t count = (uint32_t)bytes_take_count(reader, sizeof(uint32_t), TN_GRAPH_NODES_MAX,
                                                      "there are too many nodes");
    uint32_t node = 0;
    while (node < count && reader->fault == NULL && graph->error.status == TN_OK) {
        take_node(reader, graph);
        node++;
    }
    if (reader->fault != NULL || graph->error.status != TN_OK) {
        const char *why = reader->fault != NULL ? reader->fault : graph->error.text;
        const bool is_full = reader->fault == NULL && graph->error.status == TN_ENOMEM;
        return error_set(error, is_full ? TN_ENOMEM : TN_EINVAL,
                         "encoded graph, node %" PRIu32 ": %s", node == 0 ? 0 : node - 1, why);
    }
    graph->scope[0] = '\0';
    take_outputs(reader, graph);
    if (reader->fault == NULL && graph->error.status == TN_OK) { return TN_OK; }
    return error_set(error, TN_EINVAL, "encoded graph, outputs: %s",
                     reader->fault != NULL ? reader->fault : graph->error.text);
}

enum tn_status graph_decode(const uint8_t *bytes, size_t size, struct tn_graph **out,
                            struct error *error)
{
    assert((bytes != NULL || size == 0) && out != NULL);
    struct byte_reader reader = {.bytes = bytes, .size = size};
    struct tn_graph *graph = NULL;
    *out = NULL;
    if (tn_graph_create(&graph, NULL) != TN_OK) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    enum tn_status status = take_graph(&reader, graph, error);
    if (status == TN_OK) {
        *out = graph;
    } else {
        tn_graph_destroy(graph);
    }
    return status;
}
