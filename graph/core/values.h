/*
 * graph/core/values.h: given initial values of variables. A graph and all that are made from it
 * share one copy, which is freed with the last of them. Private to graph/.
 *
 * Threads: the values are constant, and graphs that share them may belong to different threads.
 */
#ifndef GRAPH_CORE_VALUES_H
#define GRAPH_CORE_VALUES_H

#include <stdint.h>

struct tn_graph;

struct shared_values {
    _Atomic uint32_t holders; /* Graphs. */
    uint64_t count;
    uint64_t digest; /* XXH3-64. */
    float values[];
};

/* A copy of `count` values, held by the graph. NULL: out of memory, which is then the graph's
 * error. */
const struct shared_values *values_copy(struct tn_graph *graph, const float *values,
                                        uint64_t count);

/* Let another graph hold them, too. Returns `shared`, or NULL as above. */
const struct shared_values *values_hold(struct tn_graph *graph, const struct shared_values *shared);

/* Give up all that the graph holds. */
void values_release(struct tn_graph *graph);

#endif
