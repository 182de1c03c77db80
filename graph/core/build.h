/*
 * graph/core/build.h: appending nodes, and errors that stick to the graph. Private to graph/.
 *
 * Threads: a graph belongs to one thread at a time.
 */
#ifndef GRAPH_CORE_BUILD_H
#define GRAPH_CORE_BUILD_H

#include "graph/core/node.h"

/*
 * Append a node and return its output 0; the others are tensor_of(tensor_node(x), output).
 * `attributes` may be NULL; texts, options and data in it must belong to the graph. TN_NONE: the
 * graph has an error, perhaps since this call.
 */
tn_tensor graph_add(struct tn_graph *graph, const struct op_type *op, const tn_tensor *inputs,
                    uint32_t count, const struct attributes *attributes);

/* graph_add() of one and two inputs, without attributes. */
tn_tensor graph_add1(struct tn_graph *graph, const struct op_type *op, tn_tensor a);
tn_tensor graph_add2(struct tn_graph *graph, const struct op_type *op, tn_tensor a, tn_tensor b);

/* Record an error unless the graph has one. The text begins with the scope. Returns TN_NONE. */
tn_tensor graph_fail(struct tn_graph *graph, enum tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Append a node that was inferred elsewhere; its texts and data are copied. Returns output 0. */
tn_tensor graph_append(struct tn_graph *graph, const struct node *node);

/* Let the next nodes have the scope and device of `node`. No scope or device may be open in the
 * callers' sense: for passes, which build no model. */
void graph_enter(struct tn_graph *graph, const struct node *node);

static inline bool graph_failed(const struct tn_graph *graph)
{
    return graph->error.status != TN_OK;
}

/* The path of `name` in the open scopes, kept by the graph. NULL: the name is not valid, which is
 * then the graph's error. */
const char *graph_path(struct tn_graph *graph, const char *name);

/* The node of type `op` whose attribute `name` is `name`, as its output 0, or TN_NONE. */
tn_tensor graph_find(const struct tn_graph *graph, const struct op_type *op, const char *name);

#endif
