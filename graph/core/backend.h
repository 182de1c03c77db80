/*
 * graph/core/backend.h: where a program runs: a kernel for each operation.
 *
 * Threads: a backend has no state; any thread may use it. No kernel allocates, fails or blocks.
 */
#ifndef GRAPH_CORE_BACKEND_H
#define GRAPH_CORE_BACKEND_H

#include "graph/core/node.h"

/* Everything that a kernel may depend on. Shapes have no TN_BATCH. Unless the operation's traits
 * allow it, no output overlaps an input. */
struct kernel_call {
    const struct node *node;
    struct tn_view in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX];
    uint64_t seed, step, first_example; /* For random operations (rule A11). */
    uint32_t examples;                  /* In this slice. */
    float scale;                        /* The factor of the gradient: 1 / batch. */
};

typedef void (*kernel_function)(const struct kernel_call *call);

struct backend {
    const char *name;
    bool wide; /* Floats are doubles in memory. */
    /* The kernel for this operation. NULL: this backend has none. */
    kernel_function (*find)(const struct op_type *op);
};

#endif
