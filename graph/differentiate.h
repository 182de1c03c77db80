/*
 * graph/differentiate.h: reverse-mode differentiation, which appends nodes to the graph.
 */
#ifndef GRAPH_DIFFERENTIATE_H
#define GRAPH_DIFFERENTIATE_H

#include "graph/core/build.h"

/*
 * Append the nodes that compute the gradient of the losses with respect to each variable, for a
 * graph in canonical order. gradients[i] is that of the i-th variable, or TN_NONE: it is frozen, or
 * no loss depends on it. Gradients that meet in a value are added in descending order of their
 * consumers (rule A9). lookups[i], unless it is NULL, is that of the rows of the i-th lookup, of at
 * most TN_LOOKUPS_MAX.
 *
 *   TN_EINVAL  the graph has no loss, or one depends on a variable through an operation that has no
 *              gradient, which the text names
 *   TN_ENOMEM  out of memory
 */
MUST_CHECK enum tn_status graph_differentiate(struct tn_graph *graph,
                                              tn_tensor gradients[static TN_VARIABLES_MAX],
                                              tn_tensor *lookups, struct error *error);

#endif
