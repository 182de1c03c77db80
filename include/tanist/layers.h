/*
 * tanist/layers.h: common layers. Each is a scope with variables and a few calls of graph.h. The
 * graph keeps the first error.
 *
 * Threads: a graph belongs to one thread at a time.
 */
#ifndef TANIST_LAYERS_H
#define TANIST_LAYERS_H

#include "tanist/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x[batch][...][inputs] -> [batch][...][width]: x weights + bias. Variables: weights
 * (TN_INIT_HE_NORMAL before relatives of relu, else TN_INIT_GLOROT_UNIFORM), bias. */
TN_API tn_tensor tn_dense(struct tn_graph *graph, const char *name, tn_tensor x, uint32_t width,
                          enum tn_activation activation);
/* Images [batch][height][width][channels]. Variables: weights, bias. `window` gives the size of the
 * kernel, strides and padding. */
TN_API tn_tensor tn_conv(struct tn_graph *graph, const char *name, tn_tensor x, uint32_t filters,
                         struct tn_window window, enum tn_activation activation);
/* Over the last dimension, epsilon 1e-5. Variables: gain, bias. */
TN_API tn_tensor tn_layer_norm(struct tn_graph *graph, const char *name, tn_tensor x);
/* Over all dimensions but the last, epsilon 1e-3, momentum 0.99. Variables: gain, bias, mean,
 * variance. */
TN_API tn_tensor tn_batch_norm(struct tn_graph *graph, const char *name, tn_tensor x);
/* ids[batch][time] -> [batch][time][width]. Variable: rows (normal, deviation 0.02). */
TN_API tn_tensor tn_embed(struct tn_graph *graph, const char *name, tn_tensor ids, uint32_t rows,
                          uint32_t width);
/* x[batch][time][width]; width is a multiple of heads. Variables: query, key, value and output,
 * each with weights and bias. Dropout follows the output. */
TN_API tn_tensor tn_self_attention(struct tn_graph *graph, const char *name, tn_tensor x,
                                   uint32_t heads, bool causal, float dropout);
/* Norm first: x + attention(norm(x)), then x + mlp(norm(x)) with gelu. */
TN_API tn_tensor tn_transformer_block(struct tn_graph *graph, const char *name, tn_tensor x,
                                      uint32_t heads, uint32_t mlp_width, bool causal,
                                      float dropout);

/* Factorization machine (Rendle 2010), without its linear part: of features x[batch][n][width] the
 * sum over all pairs of the dot products of their vectors, [batch][1]. */
TN_API tn_tensor tn_factorization_machine(struct tn_graph *graph, tn_tensor x);
/* The dot products of all pairs of x[batch][n][width], n at least 2, as DLRM has them (Naumov et
 * al. 2019): [batch][n (n - 1) / 2], those of x[1] with x[0], of x[2] with x[0] and x[1], and so
 * on. */
TN_API tn_tensor tn_dot_interaction(struct tn_graph *graph, tn_tensor x);

#ifdef __cplusplus
}
#endif
#endif
