/*
 * kernels/portable/attention.h: softmax(q k' scale + mask) v for a batch of heads, forward and
 * backward.
 *
 * The bits: matrix products as in product.h and softmax as in softmax.h. With `causal`, query i
 * sees the keys 0 to i; the others are skipped by blocks of ATTENTION_BLOCK queries and keys, which
 * is part of the definition, and take part as zeros within a block.
 *
 * Threads: any, each on its own memory. Nothing allocates, blocks or fails.
 */
#ifndef KERNELS_PORTABLE_ATTENTION_H
#define KERNELS_PORTABLE_ATTENTION_H

#include "kernels/portable/portable.h"

enum { ATTENTION_BLOCK = 32 };

/* Row t of head h of example b is data[b * batch + h * head + t * row], with neighbours of its
 * width. So q, k and v may lie beside each other in one array. */
struct attention_operand {
    const float *data;
    size_t batch, head, row;
};

/* A result, laid out in the same way. */
struct attention_result {
    float *data;
    size_t batch, head, row;
};

struct attention {
    size_t batch, heads, queries, keys;
    size_t width, value_width; /* The widths of q and k, and of v and the result. */
    bool causal;               /* Needs queries = keys. */
    float scale;               /* Positive. */
    struct attention_operand q, k, v;
};

/* The number of floats of p, and of the workspace of each pass. */
size_t attention_p_size(const struct attention *task);
size_t attention_forward_workspace(const struct portable *kernels, const struct attention *task);
size_t attention_backward_workspace(const struct portable *kernels, const struct attention *task);

/* out, and the probabilities p[batch][heads][queries][keys] for the backward pass. */
void attention_forward(const struct portable *kernels, const struct attention *task, float *p,
                       const struct attention_result *out, float *workspace);

struct attention_gradients {
    struct attention_result q, k, v;
};

/* dq, dk and dv are set from p and the gradient of `out`. They overlap no input. */
void attention_backward(const struct portable *kernels, const struct attention *task,
                        const float *p, const struct attention_operand *dout,
                        const struct attention_gradients *gradients, float *workspace);

#endif
