/*
 * graph/training_cut.h: a model that several tasks train together: its forward and backward passes
 * as parts, each computed by one task, with numbered edges between them (graph/passes/partition.h).
 * A pure function of the graph and the devices that its author gave (graph/passes/place.h).
 *
 *   - A variable belongs to one task, which alone needs its values, and to which its gradient is
 *     brought. A task that reads the variable of another one gets the values by an edge.
 *   - The gradient of an operation is computed by the task that computes the operation.
 *   - Gradients that meet in a value are added in the order of the whole graph (rule A9).
 *   - The losses of the examples are brought to every task.
 *
 * Parts run with the seed, step and position of the slice, as a whole program does, and compute its
 * bits (rule A10). They are run by programs of program_create_part(), in the order of the list.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef GRAPH_TRAINING_CUT_H
#define GRAPH_TRAINING_CUT_H

#include "graph/passes/partition.h"
#include "graph/passes/place.h"

#define CUT_NO_EDGE UINT32_MAX

/* Places are in floats. */
struct cut_variable {
    const char *name; /* Its path; as long as the cut. */
    uint32_t task;
    uint64_t offset, count; /* In the vector of all values, one variable after another. */
    uint64_t task_offset;   /* In the values of its task, in the same order. */
    uint32_t gradient;      /* The edge that brings it to `task`; CUT_NO_EDGE: it is zeros. */
};

struct cut_loss {
    float weight;
    uint32_t edges[PLACE_TASKS_MAX]; /* By task: the edge that brings the losses of the examples. */
};

struct training_cut {
    uint32_t tasks;
    struct tn_graph *graph;         /* Canonical and differentiated. */
    struct cut_variable *variables; /* In canonical order. */
    uint32_t variable_count;
    uint64_t floats[PLACE_TASKS_MAX]; /* By task: of its variables. */
    struct cut_loss *losses;          /* In the order of tn_loss(). */
    uint32_t loss_count;
    struct partition partition;
};

/*
 * Cut a graph for `tasks` tasks, from 1 to PLACE_TASKS_MAX. `out` is released by
 * training_cut_free(), also after an error.
 *
 *   TN_EINVAL  the graph's error; a device that cannot be used; no loss; an operation without a
 *              gradient; a table of rows, which is not cut; more than GRAPH_MARKS_MAX values that
 *              leave one part; the text names the operation, device or task
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status training_cut_create(const struct tn_graph *graph, uint32_t tasks,
                                              struct training_cut *out, struct error *error);
void training_cut_free(struct training_cut *cut);

/* The loss_sum that a whole program has: `values[i]` are the losses of the examples that loss `i`
 * brings. */
double training_cut_loss_sum(const struct training_cut *cut, const float *const *values,
                             uint32_t examples);

#endif
