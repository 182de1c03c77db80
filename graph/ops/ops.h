/*
 * graph/ops/ops.h: all operations, for the registry, for each other's gradients, and for the tables
 * of kernels. The comment of a row names inputs, outputs and attributes; x, y and dy are an input,
 * an output and its gradient.
 */
#ifndef GRAPH_OPS_OPS_H
#define GRAPH_OPS_OPS_H

#include "graph/core/build.h"

/* leaves.c */
extern const struct op_type op_placeholder; /* attributes name, type, shape */
extern const struct op_type op_variable;    /* attributes name, shape, variable */
extern const struct op_type op_constant;    /* attributes type, shape, data */
extern const struct op_type op_loss_seed;   /* per_example -> weight (number 0) times the scale */

/* elementwise.c: a, b -> a op b, with broadcasting */
extern const struct op_type op_add;
extern const struct op_type op_subtract;
extern const struct op_type op_multiply;
extern const struct op_type op_divide;

/* unary.c: x -> f(x); number 0 (and 1) is the constant */
extern const struct op_type op_scale;
extern const struct op_type op_power;
extern const struct op_type op_sqrt;
extern const struct op_type op_exp;
extern const struct op_type op_log;
extern const struct op_type op_clip;
extern const struct op_type op_clip_gradient; /* x, dy -> dx */
extern const struct op_type op_copy;

/* matmul.c: a, b -> op(a) op(b); integers 0, 1: transpose a, b; 2: sum over leading dimensions */
extern const struct op_type op_matmul;

/* reduce.c */
extern const struct op_type op_sum;       /* x; integer 0: bit set of the axes to remove */
extern const struct op_type op_broadcast; /* x; attribute shape */

/* reshape.c */
extern const struct op_type op_reshape; /* x; attribute shape */
extern const struct op_type op_stop_gradient;

/* arrange.c */
extern const struct op_type op_permute; /* x; integers: the order of the axes */
extern const struct op_type op_concat;  /* parts; integer 0: axis */
extern const struct op_type op_slice;   /* x; integers: axis, first, count */
extern const struct op_type op_pad;     /* x; integers: axis, before, after; number 0: value */

/* `x` summed over the dimensions that broadcasting to its shape had repeated; the result has
 * `shape`. */
tn_tensor sum_to_shape(struct tn_graph *graph, tn_tensor x, const struct tn_shape *shape);
/* `x` repeated to `shape`; `x` itself if it has that shape. */
tn_tensor broadcast_to(struct tn_graph *graph, tn_tensor x, const struct tn_shape *shape);
/* tn_sum() by a bit set of axes, which may include the batch. */
tn_tensor sum_over(struct tn_graph *graph, tn_tensor x, uint32_t axes);

/* Inference rules that several families use: one float output like input 0; all inputs are floats
 * of one shape. */
enum tn_status infer_like_input(const struct tn_graph *graph, struct node *node,
                                struct error *error);
/* TN_EINVAL unless input `input` is of type float32. */
MUST_CHECK enum tn_status check_float(const struct tn_graph *graph, const struct node *node,
                                      uint32_t input, struct error *error);

#endif
