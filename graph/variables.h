/*
 * graph/variables.h: the variables of a graph, without a program.
 *
 * Threads: a graph belongs to one thread at a time.
 */
#ifndef GRAPH_VARIABLES_H
#define GRAPH_VARIABLES_H

#include "common/base/error.h"
#include "tanist/graph.h"

/* Valid during the call that it is passed to. */
struct graph_variable {
    const char *name;   /* With its scopes: "hidden1/weights". */
    const char *device; /* "" for none. */
    struct tn_shape shape;
    struct tn_variable_options options;
    const float *initial; /* Given values, which live as long as the graph; NULL: none. */
    uint64_t initial_digest;
};

/* Call `add` for each variable in canonical order, which is that of the vector of values, until it
 * fails. Returns its status, TN_ENOMEM, or the error of the graph. */
MUST_CHECK enum tn_status graph_variables(
    const struct tn_graph *graph,
    enum tn_status (*add)(void *to, const struct graph_variable *variable, struct error *error),
    void *to, struct error *error);

/* Write the task that each variable belongs to when the graph is cut for `tasks` tasks
 * (graph/training_cut.h), in canonical order, to `out`. TN_EINVAL: a device that cannot be used;
 * TN_ENOMEM. */
MUST_CHECK enum tn_status graph_variable_tasks(const struct tn_graph *graph, uint32_t tasks,
                                               uint32_t *out, struct error *error);

#endif
