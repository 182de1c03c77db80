#include "graph/roots.h"

#include <stdlib.h>

#include "graph/differentiate.h"
#include "graph/ops/ops.h"
#include "graph/passes/passes.h"

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory: make the model or the slices smaller");
}

enum tn_status program_differentiate(struct tn_program *program, struct error *error)
{
    tn_tensor *gradients = calloc(TN_VARIABLES_MAX + TN_LOOKUPS_MAX, sizeof *gradients);
    if (gradients == NULL) { return out_of_memory(error); }
    tn_tensor *lookups = gradients + TN_VARIABLES_MAX;
    enum tn_status status = graph_differentiate(program->graph, gradients, lookups, error);
    for (uint32_t i = 0; i < program->variable_count; i++) {
        program->variables[i].gradient = gradients[i];
    }
    for (uint32_t i = 0; i < program->lookup_count; i++) {
        program->lookups[i].gradient = lookups[i];
    }
    free(gradients);
    return status;
}

/* The roots in the order of their computation. The gradients' order is that of their nodes: those
 * of the last layers first, so that what only they read is free early. */
static int by_node(const void *left, const void *right)
{
    const tn_tensor *a = left, *b = right;
    return a->v < b->v ? -1 : a->v > b->v;
}

enum tn_status program_list_roots(struct tn_program *program, struct error *error)
{
    const struct tn_graph *graph = program->graph;
    bool outputs = program->options.mode == TN_EVALUATE || program->options.keep_outputs;
    program->roots =
        calloc((size_t)graph->mark_count + program->variable_count + program->lookup_count + 1,
               sizeof *program->roots);
    if (program->roots == NULL) { return out_of_memory(error); }
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < graph->mark_count; i++) {
            bool is_loss = graph->marks[i].kind == MARK_LOSS;
            if (pass == 0 ? is_loss : !is_loss && outputs) {
                program->roots[program->root_count++] = graph->marks[i].value;
            }
        }
        if (pass == 1) { break; }
        tn_tensor *gradients = program->roots + program->root_count;
        for (uint32_t i = 0; i < program->variable_count; i++) {
            tn_tensor gradient = program->variables[i].gradient;
            if (gradient.v != 0) { program->roots[program->root_count++] = gradient; }
        }
        for (uint32_t i = 0; i < program->lookup_count; i++) {
            tn_tensor gradient = program->lookups[i].gradient;
            if (gradient.v != 0) { program->roots[program->root_count++] = gradient; }
        }
        qsort(gradients, (size_t)(program->roots + program->root_count - gradients),
              sizeof *gradients, by_node);
    }
    if (program->root_count > 0) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "the graph computes nothing: call tn_loss(), tn_metric() or tn_output()");
}

/* The values that must not get lost: those of marks, gradients of variables and of lookups. */
static void copy_values(struct tn_program *program, tn_tensor *values, bool back)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < program->graph->mark_count; i++, at++) {
        tn_tensor *value = &program->graph->marks[i].value;
        *(back ? value : &values[at]) = *(back ? &values[at] : value);
    }
    for (uint32_t i = 0; i < program->variable_count; i++, at++) {
        tn_tensor *value = &program->variables[i].gradient;
        *(back ? value : &values[at]) = *(back ? &values[at] : value);
    }
    for (uint32_t i = 0; i < program->lookup_count; i++, at++) {
        tn_tensor *value = &program->lookups[i].gradient;
        *(back ? value : &values[at]) = *(back ? &values[at] : value);
    }
}

/* The passes rewrite the roots; gradients and marks follow by the old value. */
enum tn_status program_run_passes(struct tn_program *program, struct error *error)
{
    const uint32_t count =
        program->graph->mark_count + program->variable_count + program->lookup_count;
    tn_tensor *values = calloc((size_t)count + 1, sizeof *values);
    if (values == NULL) { return out_of_memory(error); }
    copy_values(program, values, false);
    struct pass pass = {program->graph, program->backend, values, count};
    enum tn_status status = pass_fold(&pass, &program->facts.folded, error);
    if (status == TN_OK) { status = pass_share(&pass, &program->facts.shared, error); }
    if (status == TN_OK) { status = pass_fuse(&pass, &program->facts.fused, error); }
    if (status == TN_OK) { status = pass_fuse_gradients(&pass, &program->facts.fused, error); }
    copy_values(program, values, true);
    free(values);
    return status;
}

tn_tensor program_through_views(const struct tn_graph *graph, tn_tensor value)
{
    while (node_of(graph, value)->op->traits.view) { value = input_of(graph, value, 0); }
    return value;
}

/* Each gradient is computed in its place of the gradient vector. A value that is at another place
 * already, or is the gradient of two variables, is copied. */
enum tn_status program_separate_gradients(struct tn_program *program, struct error *error)
{
    struct tn_graph *graph = program->graph;
    size_t before = (size_t)graph->count * OP_OUTPUTS_MAX;
    bool *claimed = calloc(before + 1, sizeof *claimed);
    if (claimed == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        claimed[program_through_views(graph, graph->marks[i].value).v - 1] = true;
    }
    for (uint32_t i = 0; i < program->variable_count; i++) {
        tn_tensor *gradient = &program->variables[i].gradient;
        if (gradient->v == 0) { continue; }
        tn_tensor root = program_through_views(graph, *gradient);
        if (claimed[root.v - 1] || node_of(graph, root)->op->traits.leaf) {
            graph_enter(graph, node_of(graph, *gradient));
            *gradient = graph_add1(graph, &op_copy, *gradient);
        } else {
            claimed[root.v - 1] = true;
        }
    }
    free(claimed);
    return graph_failed(graph) ? out_of_memory(error) : TN_OK;
}
