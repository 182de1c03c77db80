/*
 * bench/transformer.h: one training step of a causal transformer, in plain C as a reader of the
 * paper writes it: each layer is a few loops, which the compiler vectorises. Embedding and
 * positions; blocks of norm, attention, projection, norm, two dense layers with gelu (its tanh
 * form); norm; a dense layer; cross entropy, the mean over all tokens.
 */
#ifndef BENCH_TRANSFORMER_H
#define BENCH_TRANSFORMER_H

#include <stddef.h>
#include <stdint.h>

enum {
    T_TIME = 64,
    T_WIDTH = 128,
    T_HEADS = 4,
    T_HEAD = T_WIDTH / T_HEADS,
    T_INNER = 4 * T_WIDTH,
    T_BLOCKS = 2,
    T_VOCABULARY = 128,
};

/* Weights are [in][out]. Values, or gradients. */
struct plain_block {
    float gain1[T_WIDTH], bias1[T_WIDTH];
    float q[T_WIDTH * T_WIDTH], k[T_WIDTH * T_WIDTH], v[T_WIDTH * T_WIDTH], o[T_WIDTH * T_WIDTH];
    float gain2[T_WIDTH], bias2[T_WIDTH];
    float up[T_WIDTH * T_INNER], up_bias[T_INNER];
    float down[T_INNER * T_WIDTH], down_bias[T_WIDTH];
};

struct plain_parameters {
    float rows[T_VOCABULARY * T_WIDTH], positions[T_TIME * T_WIDTH];
    struct plain_block blocks[T_BLOCKS];
    float gain[T_WIDTH], bias[T_WIDTH];
    float head[T_WIDTH * T_VOCABULARY], head_bias[T_VOCABULARY];
};

struct plain;
struct plain *plain_open(size_t batch); /* NULL: out of memory. */
void plain_close(struct plain *net);
/* The gradient of the loss for ids[batch][T_TIME] and the ids that follow. Returns the loss. */
double plain_step(struct plain *net, const struct plain_parameters *values, const int32_t *ids,
                  const int32_t *next, struct plain_parameters *gradients);

#endif
