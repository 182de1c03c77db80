/*
 * graph/core/op.h: an operation as a table of functions. Families are the files of graph/ops/;
 * graph/ops/registry.c lists all operations. A new operation fills this table, gets a kernel in
 * graph/reference/, and cases in tests/unit/graph/ops/, which the registry's test requires.
 *
 * Pure except for `build_gradient` and `build_evaluation`, which append nodes. Threads: any.
 */
#ifndef GRAPH_CORE_OP_H
#define GRAPH_CORE_OP_H

#include "common/base/error.h"
#include "tanist/graph.h"

enum { OP_INPUTS_MAX = 8, OP_OUTPUTS_MAX = 3, OP_INTEGERS_MAX = 12, OP_NUMBERS_MAX = 2 };

struct node;

/* The properties on which passes and the planner rely. */
struct op_traits {
    bool leaf;       /* No kernel: its memory is filled from outside. */
    bool view;       /* Output 0 is input 0 under another shape: no kernel, no memory. */
    bool varies;     /* Depends on more than inputs and attributes: not folded, not shared. */
    uint8_t inplace; /* Bit i: output 0 may be in the memory of input i. */
};

struct op_type {
    /* Name and version are part of the graph's hash: never reused for another meaning. */
    const char *name;
    uint32_t version;
    struct op_traits traits;
    uint32_t inputs_min, inputs_max, outputs;

    /* Set the types and shapes of the outputs. TN_EINVAL: the text names the input, its value and
     * the remedy; operation, shapes and scope are added by graph_add(). */
    enum tn_status (*infer)(const struct tn_graph *graph, struct node *node, struct error *error);

    /* Append nodes for d loss / d input i, given those of the outputs (TN_NONE: no gradient
     * arrives there); leave dx[i] as TN_NONE where no gradient flows. NULL: not differentiable; a
     * loss that depends on a variable through it is refused. */
    void (*build_gradient)(struct tn_graph *graph, tn_tensor self,
                           const tn_tensor dy[OP_OUTPUTS_MAX], tn_tensor dx[OP_INPUTS_MAX]);

    /* The value of output 0 in evaluation, made from self's inputs. NULL: as in training. */
    tn_tensor (*build_evaluation)(struct tn_graph *graph, const struct node *self);

    /* The number of values that integers of input `input` may have: [0, limit). NULL, or 0: no
     * limit. */
    int64_t (*index_limit)(const struct tn_graph *graph, const struct node *node, uint32_t input);

    /* Floating-point operations of one run. NULL: one per output element. */
    double (*flops)(const struct tn_graph *graph, const struct node *node);
};

#endif
