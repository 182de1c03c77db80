/*
 * session/placed_graph.h: the graph of a session, with the server of each node, and the positions
 * of the values of its variables: in the client's vector, and in the vector of each server.
 *
 * Pure but for memory. Threads: the owner's.
 */
#ifndef SESSION_PLACED_GRAPH_H
#define SESSION_PLACED_GRAPH_H

#include "graph/core/node.h"
#include "session/server_plan.h"

struct placed_variable {
    uint32_t node, server;
    uint64_t offset, server_offset, count; /* In floats. */
};

struct placed_graph {
    struct tn_graph *graph; /* Canonical, for evaluation; owned. */
    uint32_t *tasks;        /* graph/passes/place.h; owned. */
    struct placed_variable *variables;
    uint32_t variable_count;
    uint64_t parameters;
    uint64_t *floats; /* By server. */
    uint32_t servers;
};

/* TN_EINVAL: the graph has an error, or pass_place() refuses it. TN_ENOMEM. placed_graph_free() is
 * allowed also after an error. */
MUST_CHECK enum tn_status placed_graph_create(const struct tn_graph *graph, uint32_t servers,
                                              struct placed_graph *out, struct error *error);
void placed_graph_free(struct placed_graph *placed);

/* The value of an output or metric; TN_NONE: the name does not exist. */
tn_tensor placed_graph_find(const struct placed_graph *placed, const char *name);

/* Copy the values of `server` from the whole vector. */
void placed_graph_gather(const struct placed_graph *placed, uint32_t server, const float *values,
                         float *out);

#endif
