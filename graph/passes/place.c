#include "graph/passes/place.h"

#include <string.h>

#include "common/base/text.h"
#include "graph/core/device.h"
#include "graph/ops/ops.h"

/* The task is that of a reader, and a reader before it may replace it. */
#define PROPOSED (UINT32_C(1) << 30)

static bool is_anywhere(const struct node *node)
{
    return node->op == &op_placeholder || node->op == &op_constant;
}

static enum tn_status refuse(const struct node *node, struct error *error, const char *why)
{
    const char *name = node->attributes.name != NULL ? node->attributes.name : node->scope;
    return error_set(error, TN_EINVAL, "%s%s%s%s cannot be placed on '%s': %s", node->op->name,
                     name[0] != '\0' ? " '" : "", name, name[0] != '\0' ? "'" : "", node->device,
                     why);
}

/* The task that the node's device names, or PLACE_ANY. */
static enum tn_status parse(const struct node *node, uint32_t count, uint32_t *task,
                            struct error *error)
{
    struct device device = device_none();
    *task = PLACE_ANY;
    enum tn_status status = device_parse(node->device, &device, error);
    if (status != TN_OK) { return status; }
    if (strcmp(device.kind, "gpu") == 0) {
        return refuse(node, error, "the tasks compute on CPUs; leave /gpu out");
    }
    if (strcmp(device.job, "ps") == 0) {
        if (node->op == &op_variable || is_anywhere(node)) { return TN_OK; }
        return refuse(node, error, "operations are computed by workers; give /job:worker");
    }
    if (device.task == DEVICE_ANY) { return TN_OK; }
    if ((uint32_t)device.task >= count) {
        char why[64] = "there is only one task, /job:worker/task:0";
        if (count > 1) {
            struct text text = text_begin(why, sizeof why);
            text_add(&text, "the tasks are 0 to ");
            text_add_number(&text, count - 1);
        }
        return refuse(node, error, why);
    }
    *task = (uint32_t)device.task;
    return TN_OK;
}

/* The first task among those of the inputs, or PLACE_ANY. */
static uint32_t task_of_inputs(const struct node *node, const uint32_t *tasks)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint32_t task = tasks[tensor_node(node->inputs[i])];
        if (task != PLACE_ANY) { return task; }
    }
    return PLACE_ANY;
}

/* From the last node to the first, so that all readers of a node are placed before it; of several,
 * the first in canonical order proposes its task last. */
static void follow_readers(const struct tn_graph *graph, uint32_t *tasks)
{
    for (uint32_t i = graph->count; i-- > 0;) {
        const struct node *node = &graph->nodes[i];
        if (is_anywhere(node)) { continue; }
        tasks[i] = tasks[i] == PLACE_ANY ? 0 : tasks[i] & ~PROPOSED;
        for (uint32_t k = 0; k < node->input_count; k++) {
            const uint32_t input = tensor_node(node->inputs[k]);
            const bool is_free = tasks[input] == PLACE_ANY || (tasks[input] & PROPOSED) != 0;
            if (is_free && !is_anywhere(&graph->nodes[input])) {
                tasks[input] = tasks[i] | PROPOSED;
            }
        }
    }
}

enum tn_status pass_place(const struct tn_graph *graph, uint32_t count, uint32_t *tasks,
                          struct error *error)
{
    assert(count >= 1 && count <= PLACE_TASKS_MAX);
    assert(tasks != NULL || graph->count == 0);
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        enum tn_status status = parse(node, count, &tasks[i], error);
        if (status != TN_OK) { return status; }
        if (is_anywhere(node)) { tasks[i] = PLACE_ANY; }
        if (tasks[i] == PLACE_ANY) { tasks[i] = task_of_inputs(node, tasks); }
    }
    follow_readers(graph, tasks);
    return TN_OK;
}
