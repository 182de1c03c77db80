/* graph/passes/fold.c: constant folding. */
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/passes/passes.h"

enum { FOLDED_BYTES_MAX = 16 << 20, WORKSPACE_LINE = 64 };

static bool is_foldable(const struct tn_graph *graph, const struct node *node)
{
    if (node->op->traits.leaf || node->op->traits.varies || node->op->outputs != 1) {
        return false;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node_of(graph, node->inputs[i])->op != &op_constant) { return false; }
    }
    return node->input_count > 0;
}

static struct tn_view constant_view(const struct tn_graph *graph, tn_tensor value)
{
    const struct node *node = node_of(graph, value);
    return (struct tn_view){
        .type = node->types[0],
        .shape = node->shapes[0],
        .data = (void *)(uintptr_t)node->attributes.data, /* Kernels do not write inputs. */
    };
}

/* Run a kernel outside of a program. False: out of memory. */
static bool run_alone(const struct backend *backend, kernel_function kernel,
                      struct kernel_call *call)
{
    struct kernel_needs needs = {0};
    if (backend->needs != NULL) { needs = backend->needs(call); }
    assert(needs.packed == 0); /* No input is steady. */
    size_t bytes = ((size_t)needs.workspace + WORKSPACE_LINE) / WORKSPACE_LINE * WORKSPACE_LINE;
    call->workspace = aligned_alloc(WORKSPACE_LINE, bytes);
    if (call->workspace == NULL) { return false; }
    kernel(call);
    free(call->workspace);
    return true;
}

/* The constants are in memory of the host. */
static const struct backend *backend_of(const struct pass *pass)
{
    return backend_has_device(pass->backend) ? pass->backend->device.host : pass->backend;
}

static bool fold(const struct pass *pass, struct node *node, kernel_function kernel)
{
    size_t bytes =
        (size_t)shape_elements(&node->shapes[0]) * type_size(node->types[0], pass->backend->wide);
    void *data = malloc(size_max(bytes, 1));
    if (data == NULL) { return false; }
    struct kernel_call call = {.node = node, .kernels = backend_of(pass)->kernels};
    for (uint32_t i = 0; i < node->input_count; i++) {
        call.in[i] = constant_view(pass->graph, node->inputs[i]);
    }
    call.out[0] = (struct tn_view){node->types[0], node->shapes[0], data};
    if (kernel != NULL) {
        bool ran = run_alone(backend_of(pass), kernel, &call);
        if (!ran) {
            free(data);
            return false;
        }
    } else {
        assert(call.in[0].data != NULL); /* A view of a constant. */
        memcpy(data, call.in[0].data, bytes);
    }
    node->attributes = (struct attributes){
        .shape = node->shapes[0],
        .type = node->types[0],
        .data = graph_keep(pass->graph, data, bytes),
        .data_bytes = bytes,
    };
    node->op = &op_constant;
    node->input_count = 0;
    free(data);
    return node->attributes.data != NULL;
}

enum tn_status pass_fold(const struct pass *pass, uint32_t *folded, struct error *error)
{
    assert(pass->graph != NULL && pass->backend != NULL);
    *folded = 0;
    for (uint32_t i = 0; i < pass->graph->count; i++) {
        struct node *node = &pass->graph->nodes[i];
        if (!is_foldable(pass->graph, node)) { continue; }
        kernel_function kernel = backend_of(pass)->find(node->op);
        bool known = kernel != NULL || node->op->traits.view;
        if (!known || shape_elements(&node->shapes[0]) > FOLDED_BYTES_MAX / 8) { continue; }
        if (!fold(pass, node, kernel)) {
            return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
        }
        ++*folded;
    }
    return TN_OK;
}
