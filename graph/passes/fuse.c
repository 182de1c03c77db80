/* graph/passes/fuse.c: chains of operations for which the backend has one exact kernel. */
#include <stdlib.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "graph/passes/passes.h"

enum { CHAIN_MAX = 4 };

/* Each operation of `chain` is input 0 of the next one. Longer chains come first. */
static const struct pattern {
    const struct op_type *fused;
    const struct op_type *chain[CHAIN_MAX];
    uint32_t length;
} patterns[] = {
    {&op_matmul_add_relu, {&op_matmul, &op_add, &op_relu}, 3},
    {&op_matmul_add, {&op_matmul, &op_add}, 2},
    {&op_conv2d_add_relu_max_pool, {&op_conv2d, &op_add, &op_relu, &op_max_pool}, 4},
    {&op_conv2d_add_relu, {&op_conv2d, &op_add, &op_relu}, 3},
    {&op_conv2d_add, {&op_conv2d, &op_add}, 2},
};

void pass_count_readers(const struct pass *pass, uint32_t *readers)
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

/* Whether these convolutions and maxima have a common kernel: no groups, more than one pixel, and
 * windows that are squares without gaps, overlaps or padding. */
static bool can_pool(const struct node *product, const struct node *pool)
{
    const int64_t *conv = product->attributes.integers;
    const int64_t side = window_tile(pool->attributes.integers);
    return side >= 1 && side <= POOL_SIDE_MAX && conv[WINDOW_GROUPS] == 1 &&
           conv[WINDOW_HEIGHT] * conv[WINDOW_WIDTH] > 1;
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
    const struct node *end = &graph->nodes[nodes[pattern->length - 1]];
    if (end->op == &op_max_pool && !can_pool(product, end)) { return false; }
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
    int64_t side = last->op == &op_max_pool ? last->attributes.integers[WINDOW_HEIGHT] : 0;
    last->op = pattern->fused;
    last->attributes = product->attributes;
    if (side > 0) { last->attributes.integers[WINDOW_POOL_SIDE] = side; }
    last->inputs[0] = product->inputs[0];
    last->inputs[1] = product->inputs[1];
    last->inputs[2] = bias;
    last->input_count = 3;
    for (uint32_t i = 0; i + 1 < pattern->length; i++) { readers[nodes[i]] = 0; }
}

/*
 * Gradients of a relu whose values are only pooled: relu_gradient(y, max_pool_gradient(place, dy))
 * becomes max_pool_gradient(place, relu_gradient(pooled y, dy)). The gradient is 0 outside the
 * places, where pooled y is y, so that the bits are the same; it is computed for fewer elements,
 * and the values before pooling have one reader less.
 */
static void pool_before_relu(const struct pass *pass, const uint32_t *readers)
{
    for (uint32_t i = 0; i < pass->graph->count; i++) {
        struct node *relu = &pass->graph->nodes[i];
        if (readers[i] == 0 || relu->op != &op_relu_gradient) { continue; }
        uint32_t number = tensor_node(relu->inputs[1]);
        struct node *pool = &pass->graph->nodes[number];
        if (pool->op != &op_max_pool_gradient || readers[number] != 1) { continue; }
        tn_tensor place = pool->inputs[0], dy = pool->inputs[1];
        const struct node *forward = node_of(pass->graph, place);
        if (forward->op != &op_max_pool || forward->inputs[0].v != relu->inputs[0].v) { continue; }
        struct attributes attributes = pool->attributes;
        pool->op = &op_relu_gradient;
        pool->attributes = relu->attributes;
        pool->inputs[0] = tensor_of(tensor_node(place), 0);
        pool->shapes[0] = *shape_of(pass->graph, dy);
        relu->op = &op_max_pool_gradient;
        relu->attributes = attributes;
        relu->inputs[0] = place;
    }
}

enum tn_status pass_fuse(const struct pass *pass, uint32_t *fused, struct error *error)
{
    uint32_t nodes[CHAIN_MAX] = {0};
    uint32_t *readers = calloc((size_t)pass->graph->count + 1, sizeof *readers);
    *fused = 0;
    if (readers == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    pass_count_readers(pass, readers);
    pool_before_relu(pass, readers);
    memset(readers, 0, pass->graph->count * sizeof *readers);
    pass_count_readers(pass, readers);
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
