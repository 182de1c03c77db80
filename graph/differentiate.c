#include "graph/differentiate.h"

#include <stdlib.h>

#include "graph/ops/ops.h"

struct tape {
    struct tn_graph *graph;
    uint32_t forward; /* Number of nodes before the first gradient. */
    bool *wanted;     /* By node: a variable that is trained, or a reader of one. */
    tn_tensor *dy;    /* By value of the forward nodes. */
};

static bool is_trained(const struct node *node)
{
    if (node->op == &op_lookup) { return true; }
    return node->op == &op_variable && node->attributes.variable->update != TN_UPDATE_NEVER;
}

static void mark_wanted(struct tape *tape)
{
    for (uint32_t i = 0; i < tape->forward; i++) {
        const struct node *node = &tape->graph->nodes[i];
        tape->wanted[i] = is_trained(node);
        for (uint32_t k = 0; k < node->input_count; k++) {
            tape->wanted[i] |= tape->wanted[tensor_node(node->inputs[k])];
        }
    }
}

/* Add `gradient` to that of `value`: later consumers come first. */
static void meet(struct tape *tape, tn_tensor value, tn_tensor gradient)
{
    tn_tensor *dy = &tape->dy[value.v - 1];
    *dy = dy->v == 0 ? gradient : tn_add(tape->graph, *dy, gradient);
}

static void seed_losses(struct tape *tape)
{
    for (uint32_t i = 0; i < tape->graph->mark_count; i++) {
        const struct mark *mark = &tape->graph->marks[i];
        if (mark->kind != MARK_LOSS) { continue; }
        struct attributes attributes = {.numbers = {(double)mark->weight}};
        tn_tensor value = mark->value;
        graph_enter(tape->graph, node_of(tape->graph, value));
        meet(tape, value, graph_add(tape->graph, &op_loss_seed, &value, 1, &attributes));
    }
}

static bool has_gradient(const struct tape *tape, uint32_t number)
{
    bool any = false;
    for (uint32_t o = 0; o < OP_OUTPUTS_MAX; o++) {
        any |= tape->dy[number * OP_OUTPUTS_MAX + o].v != 0;
    }
    return any;
}

/* Propagate the gradient of node `number` to its inputs. */
static void back_through(struct tape *tape, uint32_t number)
{
    struct node node = tape->graph->nodes[number]; /* A copy: appending moves the nodes. */
    tn_tensor dx[OP_INPUTS_MAX] = {TN_NONE};
    if (node.op->traits.leaf) { return; }
    graph_enter(tape->graph, &node);
    if (node.op->build_gradient == NULL) {
        graph_fail(tape->graph, TN_EINVAL,
                   "%s has no gradient, but the loss depends on a variable through it: use another "
                   "operation, or tn_stop_gradient()",
                   node.op->name);
        return;
    }
    node.op->build_gradient(tape->graph, tensor_of(number, 0),
                            &tape->dy[(size_t)number * OP_OUTPUTS_MAX], dx);
    for (uint32_t k = 0; k < node.input_count && !graph_failed(tape->graph); k++) {
        if (dx[k].v == 0 || !tape->wanted[tensor_node(node.inputs[k])]) { continue; }
        assert(shape_equal(shape_of(tape->graph, dx[k]), shape_of(tape->graph, node.inputs[k])));
        meet(tape, node.inputs[k], dx[k]);
    }
}

static void differentiate(struct tape *tape, tn_tensor *gradients, tn_tensor *lookups)
{
    mark_wanted(tape);
    seed_losses(tape);
    for (uint32_t i = tape->forward; i-- > 0 && !graph_failed(tape->graph);) {
        if (tape->wanted[i] && has_gradient(tape, i)) { back_through(tape, i); }
    }
    for (uint32_t i = 0, variable = 0, lookup = 0; i < tape->forward; i++) {
        const struct node *node = &tape->graph->nodes[i];
        const tn_tensor dy = is_trained(node) ? tape->dy[i * OP_OUTPUTS_MAX] : TN_NONE;
        if (node->op == &op_variable) { gradients[variable++] = dy; }
        if (node->op == &op_lookup && lookups != NULL) { lookups[lookup++] = dy; }
    }
}

static bool has_loss(const struct tn_graph *graph)
{
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        if (graph->marks[i].kind == MARK_LOSS) { return true; }
    }
    return false;
}

enum tn_status graph_differentiate(struct tn_graph *graph,
                                   tn_tensor gradients[static TN_VARIABLES_MAX], tn_tensor *lookups,
                                   struct error *error)
{
    assert(!graph_failed(graph));
    if (!has_loss(graph)) {
        return error_set(error, TN_EINVAL, "the graph has no loss to train: call tn_loss()");
    }
    struct tape tape = {.graph = graph, .forward = graph->count};
    tape.wanted = calloc(graph->count, sizeof *tape.wanted);
    tape.dy = calloc((size_t)graph->count * OP_OUTPUTS_MAX, sizeof *tape.dy);
    if (tape.wanted != NULL && tape.dy != NULL) {
        differentiate(&tape, gradients, lookups);
    } else {
        graph_fail(graph, TN_ENOMEM, "out of memory: make the model smaller");
    }
    free(tape.wanted);
    free(tape.dy);
    if (!graph_failed(graph)) { return TN_OK; }
    return error_set(error, graph->error.status, "%s", graph->error.text);
}
