/*
 * graph/encoding_rules.h: which operations may be encoded, and which attributes each may have.
 * Shape rules rely on attributes that the functions of the public interface have checked; those of
 * a graph from outside are checked here. Private to graph/encoding*.c.
 *
 * Pure. Threads: any.
 */
#ifndef GRAPH_ENCODING_RULES_H
#define GRAPH_ENCODING_RULES_H

#include "graph/core/node.h"

/* Why the node cannot be computed in another process, or has attributes that its operation does
 * not allow. NULL: neither. Its inputs are values of `graph`; its outputs are not set yet. */
const char *encoding_fault(const struct tn_graph *graph, const struct node *node);

#endif
