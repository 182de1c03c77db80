/*
 * graph/canonical.h: the canonical copy of a graph (rule A9), its hash, and its specialisation to a
 * number of examples.
 *
 * Threads: a graph belongs to one thread at a time.
 */
#ifndef GRAPH_CANONICAL_H
#define GRAPH_CANONICAL_H

#include "graph/core/build.h"

/*
 * Copy the nodes that the marks depend on, depth first from the losses, metrics and outputs, each
 * in the order of their calls, inputs before their readers. With `evaluate`, operations that behave
 * differently in evaluation are replaced. The copy belongs to the caller and is independent of
 * `from`.
 *
 *   TN_ENOMEM  out of memory
 *   others     the error of `from`
 */
MUST_CHECK enum tn_status graph_canonical(const struct tn_graph *from, bool evaluate,
                                          struct tn_graph **out, struct error *error);

/* Replace TN_BATCH by `examples` in all shapes. `wide`: make doubles of the constants. */
void graph_specialise(struct tn_graph *graph, uint32_t examples, bool wide);

#endif
