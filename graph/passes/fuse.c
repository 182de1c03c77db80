/* graph/passes/fuse.c: chains of operations for which the backend has one exact kernel. */
#include <stdlib.h>

#include "graph/ops/ops.h"
#include "graph/passes/passes.h"

enum { CHAIN_MAX = 3 };

/* Each operation of `chain` is input 0 of the next one. Longer chains come first. */
static const struct pattern {
    const struct op_type *fused;
    const struct op_type *chain[CHAIN_MAX];
    uint32_t length;
} patterns[] = {
    {&op_matmul_add_relu, {&op_matmul, &op_add, &op_relu}, 3},
    {&op_matmul_add, {&op_matmul, &op_add}, 2},
    {&op_conv2d_add_relu, {&op_conv2d, &op_add, &op_relu}, 3},
    {&op_conv2d_add, {&op_conv2d, &op_add}, 2},
};

/* Number of readers of each node that the roots depend on; being a root counts as one. */
static void count_readers(const struct pass *pass, uint32_t *readers)
{
    for (uint32_t i = 0; i < pass->root_count; i++) {
        if (pass->roots[i].v != 0) { readers[tensor_node(pass->roots[i])]++; }
    }
    for (uint32_t i = pass->graph->count; i-- > 0;) {
        const struct node *node = &pass->graph->nodes[i];
        for (uint32_t k = 0; readers[i] > 0 && k < node->input_count; k++) {
            readers[tensor_node(node->inputs[k])]++;
        }
    }
}

/* The nodes of the chain that ends with node `last`. False: it does not match, or a value inside
 * has another reader. */
static bool match(const struct tn_graph *graph, const uint32_t *readers,
                  const struct pattern *pattern, uint32_t last, uint32_t *nodes)
{
    for (uint32_t i = pattern->length; i-- > 0;) {
        const struct node *node = &graph->nodes[last];
        bool inside = i + 1 < pattern->length;
        if (node->op != pattern->chain[i] || (inside && readers[last] != 1)) { return false; }
        nodes[i] = last;
        if (i > 0) { last = tensor_node(node->inputs[0]); }
    }
    const struct node *product = &graph->nodes[nodes[0]], *sum = &graph->nodes[nodes[1]];
    return shape_equal(&product->shapes[0], &sum->shapes[0]) &&
           is_bias_of(&sum->shapes[0], input_shape(graph, sum, 1));
}

/* The last node of the chain becomes the fused one; no node reads the others. */
static void replace(struct tn_graph *graph, uint32_t *readers, const struct pattern *pattern,
                    const uint32_t *nodes)
{
    const struct node *product = &graph->nodes[nodes[0]];
    struct node *last = &graph->nodes[nodes[pattern->length - 1]];
    tn_tensor bias = graph->nodes[nodes[1]].inputs[1];
    last->op = pattern->fused;
    last->attributes = product->attributes;
    last->inputs[0] = product->inputs[0];
    last->inputs[1] = product->inputs[1];
    last->inputs[2] = bias;
    last->input_count = 3;
    for (uint32_t i = 0; i + 1 < pattern->length; i++) { readers[nodes[i]] = 0; }
}

enum tn_status pass_fuse(const struct pass *pass, uint32_t *fused, struct error *error)
{
    uint32_t nodes[CHAIN_MAX] = {0};
    uint32_t *readers = calloc((size_t)pass->graph->count + 1, sizeof *readers);
    *fused = 0;
    if (readers == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    count_readers(pass, readers);
    for (uint32_t i = pass->graph->count; i-- > 0;) {
        for (uint32_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
            if (readers[i] > 0 && pass->backend->find(patterns[p].fused) != NULL &&
                match(pass->graph, readers, &patterns[p], i, nodes)) {
                replace(pass->graph, readers, &patterns[p], nodes);
                *fused += patterns[p].length - 1;
                break;
            }
        }
    }
    free(readers);
    return TN_OK;
}
