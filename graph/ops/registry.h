/* graph/ops/registry.h: the list of all operations. Pure. */
#ifndef GRAPH_OPS_REGISTRY_H
#define GRAPH_OPS_REGISTRY_H

#include "graph/core/op.h"

/* All operations, in static storage. */
const struct op_type *const *op_all(uint32_t *count);

/* The operation called `name`. NULL: unknown. */
const struct op_type *op_find(const char *name);

#endif
