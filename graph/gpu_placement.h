/*
 * graph/gpu_placement.h: the GPUs of a worker that the author of a graph gave to its operations:
 * "/gpu:N", and "/cpu:0" for those that stay on the CPU. Programs on the CPU ignore both, so that a
 * model can be used on every machine.
 *
 * Threads: a graph belongs to one thread at a time. Nothing blocks.
 */
#ifndef GRAPH_GPU_PLACEMENT_H
#define GRAPH_GPU_PLACEMENT_H

#include "common/base/error.h"
#include "tanist/graph.h"

/*
 * The devices of the operations and variables that losses, metrics and outputs need. Placeholders,
 * constants and rows of tables are wherever they are read, and other shapes of a value where it is
 * computed, so their devices do not count.
 *
 * A model with tables cannot be divided. If it names one GPU only, its GPU has all operations.
 */
struct gpu_placement {
    uint32_t gpus;     /* One more than the greatest N; 0: no device names a GPU. */
    bool has_cpu;      /* The operations are divided between these and the CPU. */
    const char *table; /* The path of its first table, the graph's; NULL: there is none. */
};

/* TN_EINVAL: the graph's error. TN_ENOMEM. */
MUST_CHECK enum tn_status gpu_placement_of(const struct tn_graph *graph, struct gpu_placement *out,
                                           struct error *error);

/* The number of devices among which the operations are divided; 0 and 1: they are not. */
static inline uint32_t gpu_placement_tasks(struct gpu_placement placement)
{
    return placement.gpus + placement.has_cpu;
}

/*
 * A canonical copy for graph/training_cut.h, in which a task stands for each GPU, by its number,
 * and one more for the CPU. Jobs and tasks that devices name are left out. The caller destroys it.
 *
 *   TN_EINVAL  the graph's error; an operation or variable on another CPU than "/cpu:0"
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status gpu_placement_as_tasks(const struct tn_graph *graph,
                                                 struct tn_graph **out, struct error *error);

#endif
