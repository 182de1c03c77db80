/*
 * graph/passes/passes.h: transformations of a specialised graph that preserve bits (rule A10). They
 * replace nodes and rewrite references. A node that no other node reads stays in the graph; the
 * schedule leaves it out.
 *
 * `roots` are the values that the program computes; passes rewrite them too.
 */
#ifndef GRAPH_PASSES_PASSES_H
#define GRAPH_PASSES_PASSES_H

#include "graph/core/backend.h"

struct pass {
    struct tn_graph *graph;
    const struct backend *backend;
    tn_tensor *roots;
    uint32_t root_count;
};

/* Compute nodes whose inputs are constants, by the kernels of the backend. `*folded` is set to the
 * number of nodes that became constants. TN_ENOMEM: out of memory. */
MUST_CHECK enum tn_status pass_fold(const struct pass *pass, uint32_t *folded, struct error *error);

/* Let readers of equal nodes (operation, attributes and inputs) read the first of them. `*shared`
 * is set to the number of the others, which no node reads. TN_ENOMEM: out of memory. */
MUST_CHECK enum tn_status pass_share(const struct pass *pass, uint32_t *shared,
                                     struct error *error);

/* Replace chains of operations for which the backend has an exact kernel. `*fused` is set to the
 * number of nodes that became part of another. TN_ENOMEM: out of memory. */
MUST_CHECK enum tn_status pass_fuse(const struct pass *pass, uint32_t *fused, struct error *error);

/* The same for gradients that read one value: several results of one operation. The number is added
 * to `*fused`. */
MUST_CHECK enum tn_status pass_fuse_gradients(const struct pass *pass, uint32_t *fused,
                                              struct error *error);

/* Add to `readers` the number of readers of each node that the roots depend on; being a root counts
 * as one. */
void pass_count_readers(const struct pass *pass, uint32_t *readers);

#endif
