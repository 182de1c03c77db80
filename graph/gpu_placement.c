#include "graph/gpu_placement.h"

#include <string.h>

#include "common/base/minmax.h"
#include "graph/canonical.h"
#include "graph/core/device.h"
#include "graph/core/node.h"

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

struct gpu_placement gpu_placement_of(const struct tn_graph *graph)
{
    struct gpu_placement placement = {.gpus = 0};
    assert(graph != NULL);
    for (uint32_t i = 0; i < graph->count; i++) {
        struct device device;
        if (!read_unit(&graph->nodes[i], &device)) { continue; }
        if (is_gpu(&device)) {
            placement.gpus = u32_max(placement.gpus, (uint32_t)device.index + 1);
        } else {
            placement.has_cpu = true;
        }
    }
    if (placement.gpus == 0) { placement.has_cpu = false; }
    return placement;
}

static enum tn_status place(struct tn_graph *graph, struct node *node, uint32_t cpu,
                            struct error *error)
{
    struct device unit, task = {.job = "worker", .index = DEVICE_ANY};
    char text[DEVICE_TEXT_MAX];
    if (!read_unit(node, &unit)) {
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
    const uint32_t cpu = gpu_placement_of(graph).gpus;
    enum tn_status status = graph_canonical(graph, false, out, error);
    if (status != TN_OK) { return status; }
    for (uint32_t i = 0; i < (*out)->count && status == TN_OK; i++) {
        status = place(*out, &(*out)->nodes[i], cpu, error);
    }
    if (status == TN_OK) { return TN_OK; }
    tn_graph_destroy(*out);
    *out = NULL;
    return status;
}
