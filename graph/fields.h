/*
 * graph/fields.h: the placeholders of a graph, without a program.
 *
 * Threads: a graph belongs to one thread at a time.
 */
#ifndef GRAPH_FIELDS_H
#define GRAPH_FIELDS_H

#include "common/base/error.h"
#include "tanist/graph.h"

/* Call `check` for each placeholder that a loss, metric or output depends on, until it fails.
 * Returns its status, TN_ENOMEM, or the error of the graph. */
MUST_CHECK enum tn_status graph_fields(const struct tn_graph *graph,
                                       enum tn_status (*check)(const void *ctx, const char *field,
                                                               const struct tn_shape *shape,
                                                               struct error *error),
                                       const void *ctx, struct error *error);

#endif
