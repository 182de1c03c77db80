#include "graph/core/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

/* "matmul(float32 [batch, 784], float32 [100, 10])" */
static void describe_call(const struct tn_graph *graph, const struct node *node, char *out,
                          size_t size)
{
    assert(size > 0);
    const bool is_custom = node->attributes.custom != NULL;
    int length = snprintf(out, size, "%s%s%s(", node->op->name, is_custom ? " " : "",
                          is_custom ? node->attributes.name : "");
    for (uint32_t i = 0; i < node->input_count && length >= 0 && (size_t)length < size; i++) {
        char shape[SHAPE_TEXT_MAX];
        int more =
            snprintf(out + length, size - (size_t)length, "%s%s", i == 0 ? "" : ", ",
                     shape_format(input_type(graph, node, i), input_shape(graph, node, i), shape));
        length = more < 0 ? -1 : length + more;
    }
    if (length >= 0 && (size_t)length + 1 < size) {
        out[length] = ')';
        out[length + 1] = '\0';
    }
}

static bool inputs_are_usable(struct tn_graph *graph, const struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t v = node->inputs[i].v;
        if (v == 0) {
            graph_fail(graph, TN_EINVAL, "%s: input %u is TN_NONE: give a value", node->op->name,
                       i);
            return false;
        }
        if (v > graph->count * OP_OUTPUTS_MAX ||
            tensor_output(node->inputs[i]) >= node_of(graph, node->inputs[i])->op->outputs) {
            graph_fail(graph, TN_EINVAL, "%s: input %u is not a value of this graph",
                       node->op->name, i);
            return false;
        }
    }
    return true;
}

static bool reserve(struct tn_graph *graph)
{
    if (graph->count == TN_GRAPH_NODES_MAX) {
        graph_fail(graph, TN_EINVAL, "the graph has %d nodes, the limit: make the model smaller",
                   TN_GRAPH_NODES_MAX);
        return false;
    }
    if (graph->count < graph->capacity) { return true; }
    uint32_t capacity = u32_max(256, 2 * graph->capacity);
    struct node *nodes = realloc(graph->nodes, capacity * sizeof *nodes);
    if (nodes == NULL) {
        graph_fail(graph, TN_ENOMEM, "out of memory: make the model smaller");
        return false;
    }
    graph->nodes = nodes;
    graph->capacity = capacity;
    return true;
}

/* Infer the outputs and check that they are shapes. */
static bool infer(struct tn_graph *graph, struct node *node)
{
    struct error error = {.status = TN_OK};
    char call[ERROR_TEXT_MAX / 2];
    enum tn_status status = node->op->infer(graph, node, &error);
    for (uint32_t i = 0; i < node->op->outputs && status == TN_OK; i++) {
        char shape[SHAPE_TEXT_MAX];
        if (shape_is_valid(&node->shapes[i])) { continue; }
        status = error_set(&error, TN_EINVAL,
                           "its result would be %s: each dimension must be at least 1, and only "
                           "the first one the batch",
                           shape_format(node->types[i], &node->shapes[i], shape));
    }
    if (status == TN_OK) { return true; }
    describe_call(graph, node, call, sizeof call);
    graph_fail(graph, status, "%s: %s", call, error.text);
    return false;
}

/* The text of the open scopes, shared with the node before if it has the same. */
static const char *current_scope(struct tn_graph *graph)
{
    const char *last = graph->count == 0 ? "" : graph->nodes[graph->count - 1].scope;
    return strcmp(last, graph->scope) == 0 ? last : graph_keep_text(graph, graph->scope);
}

tn_tensor graph_add(struct tn_graph *graph, const struct op_type *op, const tn_tensor *inputs,
                    uint32_t count, const struct attributes *attributes)
{
    assert(op != NULL && op->infer != NULL);
    assert(count >= op->inputs_min && count <= op->inputs_max);
    if (graph_failed(graph)) { return TN_NONE; }
    struct node node = {.op = op, .input_count = count};
    if (attributes != NULL) { node.attributes = *attributes; }
    for (uint32_t i = 0; i < count; i++) { node.inputs[i] = inputs[i]; }
    if (!inputs_are_usable(graph, &node) || !infer(graph, &node) || !reserve(graph)) {
        return TN_NONE;
    }
    node.scope = current_scope(graph);
    node.device = graph->devices[graph->device_depth];
    if (node.scope == NULL) { return TN_NONE; }
    graph->nodes[graph->count++] = node;
    return tensor_of(graph->count - 1, 0);
}

tn_tensor graph_add1(struct tn_graph *graph, const struct op_type *op, tn_tensor a)
{
    return graph_add(graph, op, &a, 1, NULL);
}

tn_tensor graph_add2(struct tn_graph *graph, const struct op_type *op, tn_tensor a, tn_tensor b)
{
    return graph_add(graph, op, (tn_tensor[]){a, b}, 2, NULL);
}

tn_tensor graph_find(const struct tn_graph *graph, const struct op_type *op, const char *name)
{
    assert(name != NULL);
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->op == op && strcmp(node->attributes.name, name) == 0) { return tensor_of(i, 0); }
    }
    return TN_NONE;
}

tn_tensor graph_append(struct tn_graph *graph, const struct node *node)
{
    if (graph_failed(graph) || !reserve(graph)) { return TN_NONE; }
    struct node copy = *node;
    struct attributes *attributes = &copy.attributes;
    graph_enter(graph, node);
    copy.scope = current_scope(graph);
    copy.device = graph->devices[0];
    if (attributes->name != NULL) { attributes->name = graph_keep_text(graph, attributes->name); }
    if (attributes->data != NULL) {
        attributes->data = graph_keep(graph, attributes->data, attributes->data_bytes);
    }
    if (attributes->variable != NULL) {
        struct tn_variable_options options = *attributes->variable;
        if (options.optimizer != NULL) {
            options.optimizer = graph_keep_text(graph, options.optimizer);
        }
        attributes->variable = graph_keep(graph, &options, sizeof options);
    }
    if (attributes->initial != NULL) {
        attributes->initial = values_hold(graph, attributes->initial);
    }
    if (graph_failed(graph)) { return TN_NONE; }
    graph->nodes[graph->count++] = copy;
    return tensor_of(graph->count - 1, 0);
}

void graph_enter(struct tn_graph *graph, const struct node *node)
{
    assert(strlen(node->scope) < sizeof graph->scope);
    memcpy(graph->scope, node->scope, strlen(node->scope) + 1);
    if (strcmp(graph->devices[0], node->device) != 0) {
        const char *kept = graph_keep_text(graph, node->device);
        if (kept != NULL) { graph->devices[0] = kept; }
    }
    graph->device_depth = 0;
}
