/*
 * graph/passes/place.h: which task of the job "worker" computes each node of a graph: a pure
 * function of the devices that its author gave (tn_device_begin()).
 *
 *   - A node on /job:worker/task:K is computed by task K.
 *   - An operation without a task is computed where its first input with a task is computed.
 *   - Without such an input it is computed where its first reader is, in canonical order, and so is
 *     a variable without a task held. /job:ps leaves a variable without a task.
 *   - Other nodes, such as those of a graph without devices, are task 0's.
 *   - Placeholders and constants are wherever they are read.
 */
#ifndef GRAPH_PASSES_PLACE_H
#define GRAPH_PASSES_PLACE_H

#include "common/base/error.h"
#include "tanist/graph.h"

/* The task of a node that is wherever it is read. */
#define PLACE_ANY UINT32_MAX

enum { PLACE_TASKS_MAX = 64 };

/*
 * Write the task of each node of a canonical graph to `tasks`, `graph->count` elements. `count`
 * tasks exist, from 1 to PLACE_TASKS_MAX.
 *
 *   TN_EINVAL  a device that cannot be used: a task that does not exist, an operation on /job:ps, a
 *              GPU; the error names the node and the device
 */
MUST_CHECK enum tn_status pass_place(const struct tn_graph *graph, uint32_t count, uint32_t *tasks,
                                     struct error *error);

#endif
