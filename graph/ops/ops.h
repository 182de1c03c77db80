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
extern const struct op_type op_erf;
extern const struct op_type op_clip;
extern const struct op_type op_clip_gradient; /* x, dy -> dx */
extern const struct op_type op_copy;

/* matmul.c: a, b -> op(a) op(b); integers 0, 1: transpose a, b; 2: sum over leading dimensions */
extern const struct op_type op_matmul;

/* fused.c: the inputs of the product, bias; its integers. Made by the pass fuse only. */
extern const struct op_type op_matmul_add, op_matmul_add_relu;
extern const struct op_type op_conv2d_add, op_conv2d_add_relu;
extern const struct op_type op_conv2d_add_relu_max_pool; /* Outputs of max_pool. */
enum { POOL_SIDE_MAX = 16 };
/* Gradients of a pooled convolution with bias: x, place of each maximum, dy[, weights] -> those of
 * weights and bias, and with `all` that of x; its integers, attribute shape of the weights. */
extern const struct op_type op_conv2d_pool_gradients, op_conv2d_pool_all_gradients;

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

/* activation.c: x -> f(x); gradients: y, dy -> dx for the first four, x, dy -> dx for the others */
extern const struct op_type op_relu, op_relu_gradient;
extern const struct op_type op_leaky_relu, op_leaky_relu_gradient; /* number 0: slope below zero */
extern const struct op_type op_sigmoid, op_sigmoid_gradient;
extern const struct op_type op_tanh, op_tanh_gradient;
extern const struct op_type op_gelu, op_gelu_gradient;
extern const struct op_type op_silu, op_silu_gradient;

/* softmax.c */
extern const struct op_type op_softmax;
extern const struct op_type op_softmax_gradient; /* y, dy -> dx */

/* gather.c */
extern const struct op_type op_gather;          /* rows, ids -> rows[ids] */
extern const struct op_type op_gather_gradient; /* ids, dy -> gradient of the rows; shape */
extern const struct op_type op_one_hot;         /* ids; integer 0: depth */
extern const struct op_type op_cast;            /* x; attribute type; number 0: factor */

/* lookup.c */
extern const struct op_type op_table;     /* attributes name, shape; integer 0: rows; number 0 */
extern const struct op_type op_lookup;    /* table, keys -> rows; integers: first, count */
extern const struct op_type op_key_share; /* keys; integers: first, count -> [batch, 1] */

/* classify.c: logits, labels; number 0: label smoothing */
extern const struct op_type op_softmax_cross_entropy;
extern const struct op_type op_softmax_cross_entropy_gradient; /* output 0, labels, dy */
extern const struct op_type op_is_correct;

/* regress.c: outputs, targets -> the mean of each example; gradients: outputs, targets, dy */
extern const struct op_type op_squared_error, op_squared_error_gradient;
extern const struct op_type op_absolute_error, op_absolute_error_gradient;
extern const struct op_type op_huber_error, op_huber_error_gradient; /* number 0: width */
extern const struct op_type op_sigmoid_cross_entropy, op_sigmoid_cross_entropy_gradient;

/* retrieval.c: queries, items */
extern const struct op_type op_slice_softmax_cross_entropy;
extern const struct op_type
    op_slice_softmax_cross_entropy_gradient; /* queries, items, dy -> 2 gradients */
extern const struct op_type op_is_retrieved; /* queries, items -> 1 or 0 */

/* conv.c: integers of window.h */
extern const struct op_type op_conv2d;                  /* x, weights */
extern const struct op_type op_conv2d_input_gradient;   /* weights, dy; shape of x */
extern const struct op_type op_conv2d_weights_gradient; /* x, dy; shape of weights */

/* pool.c: x; integers of window.h */
extern const struct op_type op_max_pool;          /* -> y, the place of each maximum */
extern const struct op_type op_max_pool_gradient; /* output 1, dy; shape of x */
extern const struct op_type op_mean_pool;
extern const struct op_type op_mean_pool_gradient; /* dy; shape of x */

/* normalize.c: number 0: epsilon */
extern const struct op_type op_layer_norm; /* x, gain, bias -> y, mean, 1 / deviation */
extern const struct op_type
    op_layer_norm_gradient;                /* x, gain, outputs 1 and 2, dy -> 3 gradients */
extern const struct op_type op_batch_norm; /* x, gain, bias, moments for use -> y, mean, variance */
extern const struct op_type
    op_batch_norm_gradient;                  /* x, gain, outputs 1 and 2, dy -> 3 gradients */
extern const struct op_type op_slice_moment; /* moment -> moment times the slice's share */

/* dropout.c: x; integers: stream, batch in front; number 0: rate */
extern const struct op_type op_dropout;

/* attention.c: integer 0: causal; number 0: scale */
extern const struct op_type op_attention;          /* q, k, v -> y, probabilities */
extern const struct op_type op_attention_gradient; /* q, k, v, output 1, dy -> 3 gradients */

/* custom.c: operations of the user: attributes name, custom; integers and number: constants, then
 * the version */
extern const struct op_type op_custom; /* its inputs -> its output */
extern const struct op_type
    op_custom_gradient; /* inputs, output, dy; integer: which input; shape */
struct tn_constants custom_constants(const struct attributes *attributes);
uint32_t custom_gradient_input(const struct node *node);

/* Whether `bias` is a vector of the last dimension of `shape`. */
bool is_bias_of(const struct tn_shape *shape, const struct tn_shape *bias);

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
/* A float output of the attribute `shape`. */
enum tn_status infer_from_attributes(const struct tn_graph *graph, struct node *node,
                                     struct error *error);
/* TN_EINVAL unless input `input` is an integer. */
MUST_CHECK enum tn_status check_integer(const struct tn_graph *graph, const struct node *node,
                                        uint32_t input, struct error *error);
/* TN_EINVAL unless input `input` is of type float32. */
MUST_CHECK enum tn_status check_float(const struct tn_graph *graph, const struct node *node,
                                      uint32_t input, struct error *error);

#endif
