#include "graph/gpu_placement.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "graph/canonical.h"
#include "graph/core/device.h"
#include "graph/ops/ops.h"

/* A part that names a GPU or CPU. */
static bool read_unit(const struct node *node, struct device *device)
{
    *device = device_none();
    /* The text was made by device_format(). */
    return device_parse(node->device, device, NULL) == TN_OK && device->index != DEVICE_ANY;
}

static bool is_gpu(const struct device *device)
{
    return strcmp(device->kind, "gpu") == 0;
}

/* Other leaves are wherever they are read, and views where their values are. */
static bool has_place(const struct node *node)
{
    const struct op_traits *traits = &node->op->traits;
    return node->op == &op_variable || (!traits->leaf && !traits->view);
}

/* Only `needed` nodes count; NULL: all do. */
static struct gpu_placement find_placement(const struct tn_graph *graph, const bool *needed)
{
    struct gpu_placement placement = {.gpus = 0};
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        struct device device;
        if (needed != NULL && !needed[i]) { continue; }
        if (node->op == &op_table && placement.table == NULL) {
            placement.table = node->attributes.name;
        }
        if (!has_place(node) || !read_unit(node, &device)) { continue; }
        if (is_gpu(&device)) {
            placement.gpus = u32_max(placement.gpus, (uint32_t)device.index + 1);
        } else {
            placement.has_cpu = true;
        }
    }
    const bool is_whole = placement.table != NULL && placement.gpus == 1;
    if (placement.gpus == 0 || is_whole) { placement.has_cpu = false; }
    return placement;
}

enum tn_status gpu_placement_of(const struct tn_graph *graph, struct gpu_placement *out,
                                struct error *error)
{
    assert(graph != NULL && out != NULL);
    *out = (struct gpu_placement){.gpus = 0};
    if (graph_failed(graph)) {
        return error_set(error, graph->error.status, "%s", graph->error.text);
    }
    bool *needed = calloc((size_t)graph->count + 1, sizeof *needed);
    if (needed == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    for (uint32_t i = 0; i < graph->mark_count; i++) {
        needed[tensor_node(graph->marks[i].value)] = true;
    }
    for (uint32_t i = graph->count; i-- > 0;) { /* Readers come after their inputs. */
        const struct node *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count && needed[i]; k++) {
            needed[tensor_node(node->inputs[k])] = true;
        }
    }
    *out = find_placement(graph, needed);
    free(needed);
    return TN_OK;
}

static enum tn_status place(struct tn_graph *graph, struct node *node, uint32_t cpu,
                            struct error *error)
{
    struct device unit, task = {.job = "worker", .index = DEVICE_ANY};
    char text[DEVICE_TEXT_MAX];
    if (!has_place(node) || !read_unit(node, &unit)) {
        node->device = "";
        return TN_OK;
    }
    if (!is_gpu(&unit) && unit.index > 0) {
        return error_set(error, TN_EINVAL,
                         "scope '%s': %s is placed on '%s', but a worker has one CPU: give /cpu:0",
                         node->scope, node->op->name, node->device);
    }
    task.task = is_gpu(&unit) ? unit.index : (int32_t)cpu;
    device_format(&task, text);
    node->device = graph_keep_text(graph, text);
    if (node->device != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
}

enum tn_status gpu_placement_as_tasks(const struct tn_graph *graph, struct tn_graph **out,
                                      struct error *error)
{
    enum tn_status status = graph_canonical(graph, false, out, error);
    if (status != TN_OK) { return status; }
    const uint32_t cpu = find_placement(*out, NULL).gpus;
    for (uint32_t i = 0; i < (*out)->count && status == TN_OK; i++) {
        status = place(*out, &(*out)->nodes[i], cpu, error);
    }
    if (status == TN_OK) { return TN_OK; }
    tn_graph_destroy(*out);
    *out = NULL;
    return status;
}
