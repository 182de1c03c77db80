/* graph/schedule.h: the order in which a program executes the nodes of its graph. */
#ifndef GRAPH_SCHEDULE_H
#define GRAPH_SCHEDULE_H

#include "graph/core/build.h"

/*
 * Write the nodes that the roots depend on to order[0..graph->count) and return their number: depth
 * first from the roots, inputs before their readers. So each node runs right before its first
 * reader, which matters for the gradients, and a root runs as early as its place among the roots
 * allows. Roots that are TN_NONE are skipped. 0 with roots: out of memory.
 */
uint32_t graph_schedule(const struct tn_graph *graph, const tn_tensor *roots, uint32_t root_count,
                        uint32_t *order);

#endif
