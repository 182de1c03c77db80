/*
 * graph/passes/fuse_gradients.c: the gradient of max pooling after a convolution and its readers,
 * the gradients of bias, weights and input, become one operation. The gradient before pooling is
 * large, mostly zeros, and needed by these only: the operation computes it image by image, and it
 * stays in the caches.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "graph/passes/passes.h"

enum { ALL_BUT_CHANNELS = 7 }; /* The bit set of the axes of a batch of images. */

/* The readers of the gradient of pooling `pool`; 0: there is none. */
struct readers {
    uint32_t pool, bias, weights, input;
};

/* The place in `readers` for this reader of `dy`. NULL: it is another operation. */
static uint32_t *place_of(const struct node *node, tn_tensor dy, struct readers *readers)
{
    if (node->op == &op_sum && node->inputs[0].v == dy.v &&
        node->attributes.integers[0] == ALL_BUT_CHANNELS) {
        return &readers->bias;
    }
    if (node->op == &op_conv2d_weights_gradient && node->inputs[1].v == dy.v) {
        return &readers->weights;
    }
    if (node->op == &op_conv2d_input_gradient && node->inputs[1].v == dy.v) {
        return &readers->input;
    }
    return NULL;
}

/* Find the readers of node `readers->pool`. False: it has others. */
static bool find_readers(const struct pass *pass, const uint32_t *counts, struct readers *readers)
{
    const tn_tensor dy = tensor_of(readers->pool, 0);
    uint32_t found = 0;
    for (uint32_t i = readers->pool + 1; i < pass->graph->count; i++) {
        if (counts[i] == 0) { continue; }
        uint32_t *place = place_of(&pass->graph->nodes[i], dy, readers);
        if (place == NULL) { continue; }
        if (*place != 0) { return false; }
        *place = i;
        found++;
    }
    return readers->bias != 0 && readers->weights != 0 && counts[readers->pool] == found;
}

/* Whether the gradients are those of one convolution that has a kernel for it. */
static bool can_fuse(const struct tn_graph *graph, const struct readers *readers)
{
    const struct node *pool = &graph->nodes[readers->pool];
    const struct node *weights = &graph->nodes[readers->weights];
    const int64_t *conv = weights->attributes.integers;
    const int64_t side = window_tile(pool->attributes.integers);
    if (side < 2 || side > POOL_SIDE_MAX || conv[WINDOW_GROUPS] != 1 ||
        conv[WINDOW_HEIGHT] * conv[WINDOW_WIDTH] < 2 || weights->shapes[0].dims[3] < 2) {
        return false;
    }
    if (readers->input == 0) { return true; }
    const struct node *input = &graph->nodes[readers->input];
    return memcmp(conv, input->attributes.integers, sizeof input->attributes.integers) == 0 &&
           shape_equal(&input->shapes[0], input_shape(graph, weights, 0)) &&
           shape_equal(&weights->shapes[0], input_shape(graph, input, 0));
}

/* The first reader becomes the operation; `moved` gets the new places of all their values. */
static void replace(struct tn_graph *graph, const struct readers *readers, tn_tensor *moved)
{
    const struct node pool = graph->nodes[readers->pool];
    const struct node weights = graph->nodes[readers->weights];
    const struct tn_shape bias = graph->nodes[readers->bias].shapes[0];
    uint32_t first = u32_min(readers->bias, readers->weights);
    struct node fused = weights;
    fused.op = &op_conv2d_pool_gradients;
    fused.attributes.integers[WINDOW_POOL_SIDE] = window_tile(pool.attributes.integers);
    fused.inputs[1] = pool.inputs[0];
    fused.inputs[2] = pool.inputs[1];
    fused.input_count = 3;
    fused.shapes[1] = bias;
    fused.types[1] = TN_FLOAT32;
    if (readers->input != 0) {
        const struct node *input = &graph->nodes[readers->input];
        first = u32_min(first, readers->input);
        fused.op = &op_conv2d_pool_all_gradients;
        fused.inputs[3] = input->inputs[0];
        fused.input_count = 4;
        fused.shapes[2] = input->shapes[0];
        fused.types[2] = TN_FLOAT32;
        moved[tensor_of(readers->input, 0).v] = tensor_of(first, 2);
    }
    moved[tensor_of(readers->weights, 0).v] = tensor_of(first, 0);
    moved[tensor_of(readers->bias, 0).v] = tensor_of(first, 1);
    graph->nodes[first] = fused;
}

static void move(tn_tensor *value, const tn_tensor *moved)
{
    if (moved[value->v].v != 0) { *value = moved[value->v]; }
}

static void move_all(const struct pass *pass, const tn_tensor *moved)
{
    for (uint32_t i = 0; i < pass->graph->count; i++) {
        struct node *node = &pass->graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; k++) { move(&node->inputs[k], moved); }
    }
    for (uint32_t i = 0; i < pass->root_count; i++) { move(&pass->roots[i], moved); }
}

enum tn_status pass_fuse_gradients(const struct pass *pass, uint32_t *fused, struct error *error)
{
    const uint32_t count = pass->graph->count;
    uint32_t *counts = calloc((size_t)count + 1, sizeof *counts);
    tn_tensor *moved = calloc((size_t)count * OP_OUTPUTS_MAX + 1, sizeof *moved);
    enum tn_status status = TN_OK;
    if (counts == NULL || moved == NULL) {
        status = error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    } else if (pass->backend->find(&op_conv2d_pool_gradients) != NULL) {
        pass_count_readers(pass, counts);
        for (uint32_t i = 0; i < count; i++) {
            struct readers readers = {.pool = i};
            if (counts[i] == 0 || pass->graph->nodes[i].op != &op_max_pool_gradient) { continue; }
            if (find_readers(pass, counts, &readers) && can_fuse(pass->graph, &readers)) {
                replace(pass->graph, &readers, moved);
                *fused += readers.input != 0 ? 3 : 2;
            }
        }
        move_all(pass, moved);
    }
    free(counts);
    free(moved);
    return status;
}
