/*
 * graph/encoding.h: a graph as bytes, for programs in other processes that compute it: its
 * operations with their attributes, constants, and outputs. Variables have names and shapes only;
 * their values travel apart, and how they are trained does not belong to it.
 *
 * The bytes are not trusted: reading checks every count, size, name and attribute before it is
 * used, and every shape rule again. What evaluation needs can be encoded: not the operations of
 * gradients, of the user's code, and of tables.
 *
 * The format: "TNGR", a version, the nodes, the outputs; all integers little-endian.
 *
 * Threads: a graph belongs to one thread at a time. Nothing blocks.
 */
#ifndef GRAPH_ENCODING_H
#define GRAPH_ENCODING_H

#include "common/base/error.h"
#include "tanist/graph.h"

enum { GRAPH_ENCODING_VERSION = 1 };

/*
 * Encode all nodes and outputs; losses and metrics are left out. `*out` belongs to the caller,
 * which calls free().
 *
 *   TN_EINVAL  an operation that cannot be encoded: the error names it and its scope; or the error
 *              of the graph
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status graph_encode(const struct tn_graph *graph, uint8_t **out, size_t *size,
                                       struct error *error);

/*
 * Read a graph, which belongs to the caller. Devices are left out.
 *
 *   TN_EINVAL  the bytes are not a graph of this version, or a graph that breaks a rule; an unknown
 *              operation, or another version of it: the error names node and field
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status graph_decode(const uint8_t *bytes, size_t size, struct tn_graph **out,
                                       struct error *error);

#endif
