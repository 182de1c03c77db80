#include "graph/canonical.h"

#include <stdlib.h>
#include <string.h>

/* The way of a depth-first visit: nodes on the stack wait for their inputs. */
struct visit {
    const struct tn_graph *from;
    struct tn_graph *to;
    bool evaluate;
    tn_tensor *map;  /* By value of `from`; TN_NONE: not copied yet. */
    uint32_t *stack; /* At most one entry per input. */
    uint32_t depth;
};

static bool is_copied(const struct visit *visit, uint32_t node)
{
    return visit->map[node * OP_OUTPUTS_MAX].v != 0;
}

static void copy_node(struct visit *visit, uint32_t number)
{
    struct node node = visit->from->nodes[number];
    for (uint32_t i = 0; i < node.input_count; i++) {
        node.inputs[i] = visit->map[node.inputs[i].v - 1];
        assert(node.inputs[i].v != 0);
    }
    if (visit->evaluate && node.op->build_evaluation != NULL) {
        graph_enter(visit->to, &node);
        visit->map[number * OP_OUTPUTS_MAX] = node.op->build_evaluation(visit->to, &node);
        return;
    }
    tn_tensor copy = graph_append(visit->to, &node);
    visit->to->variable_count += node.attributes.variable != NULL;
    for (uint32_t i = 0; i < node.op->outputs && copy.v != 0; i++) {
        visit->map[number * OP_OUTPUTS_MAX + i] = tensor_of(tensor_node(copy), i);
    }
}

/* Push the first input that is not copied. False: all are. */
static bool push_input(struct visit *visit, uint32_t number)
{
    const struct node *node = &visit->from->nodes[number];
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = tensor_node(node->inputs[i]);
        if (!is_copied(visit, input)) {
            visit->stack[visit->depth++] = input;
            return true;
        }
    }
    return false;
}

static void visit_value(struct visit *visit, tn_tensor value)
{
    if (is_copied(visit, tensor_node(value))) { return; }
    visit->stack[visit->depth++] = tensor_node(value);
    while (visit->depth > 0 && !graph_failed(visit->to)) {
        uint32_t number = visit->stack[visit->depth - 1];
        if (push_input(visit, number)) { continue; }
        copy_node(visit, number);
        visit->depth--;
    }
}

/* Losses first, then metrics, then outputs. */
static void visit_marks(struct visit *visit)
{
    for (int kind = 0; kind < MARK_KINDS; kind++) {
        for (uint32_t i = 0; i < visit->from->mark_count; i++) {
            struct mark mark = visit->from->marks[i];
            if (mark.kind != (enum mark_kind)kind) { continue; }
            visit_value(visit, mark.value);
            if (graph_failed(visit->to)) { return; }
            mark.value = visit->map[mark.value.v - 1];
            if (mark.name != NULL) { mark.name = graph_keep_text(visit->to, mark.name); }
            visit->to->marks[visit->to->mark_count++] = mark;
        }
    }
}

enum tn_status graph_canonical(const struct tn_graph *from, bool evaluate, struct tn_graph **out,
                               struct error *error)
{
    struct tn_error created;
    *out = NULL;
    if (graph_failed(from)) { return error_set(error, from->error.status, "%s", from->error.text); }
    struct visit visit = {.from = from, .evaluate = evaluate};
    enum tn_status status = tn_graph_create(&visit.to, &created);
    visit.map = calloc((size_t)from->count * OP_OUTPUTS_MAX + 1, sizeof *visit.map);
    visit.stack = calloc((size_t)from->count + 1, sizeof *visit.stack);
    if (status == TN_OK && visit.map != NULL && visit.stack != NULL) {
        visit_marks(&visit);
        status = visit.to->error.status;
        if (status != TN_OK) { error_set(error, status, "%s", visit.to->error.text); }
    } else {
        status = error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    free(visit.map);
    free(visit.stack);
    if (status == TN_OK) {
        *out = visit.to;
    } else {
        tn_graph_destroy(visit.to);
    }
    return status;
}

/* Make doubles of a constant's floats. */
static void widen(struct tn_graph *graph, struct attributes *attributes)
{
    size_t count = attributes->data_bytes / sizeof(float);
    double *wide = malloc(count * sizeof *wide);
    const float *values = attributes->data;
    if (wide == NULL) {
        graph_fail(graph, TN_ENOMEM, "out of memory: make the model smaller");
        return;
    }
    for (size_t i = 0; i < count; i++) { wide[i] = (double)values[i]; }
    attributes->data_bytes = count * sizeof *wide;
    attributes->data = graph_keep(graph, wide, attributes->data_bytes);
    free(wide);
}

void graph_specialise(struct tn_graph *graph, uint32_t examples, bool wide)
{
    assert(examples >= 1);
    for (uint32_t i = 0; i < graph->count; i++) {
        struct node *node = &graph->nodes[i];
        node->attributes.shape = shape_with_batch(node->attributes.shape, examples);
        for (uint32_t o = 0; o < node->op->outputs; o++) {
            node->shapes[o] = shape_with_batch(node->shapes[o], examples);
        }
        if (wide && node->attributes.data != NULL && node->attributes.type == TN_FLOAT32) {
            widen(graph, &node->attributes);
        }
    }
}
