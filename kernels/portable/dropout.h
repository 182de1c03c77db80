/*
 * kernels/portable/dropout.h: dropout with counter-based random numbers: whether an element falls
 * is a function of (key, step, position of the example in the batch, element), not of slices,
 * workers or retries. The backward pass is the same function of the gradient, so no mask is stored.
 *
 * Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). Element e of an example is word
 * (e / 16) % 4 of the counter (e / 64 * 16 + e % 16, example, step, step >> 32).
 */
#ifndef KERNELS_PORTABLE_DROPOUT_H
#define KERNELS_PORTABLE_DROPOUT_H

#include <stddef.h>
#include <stdint.h>

/* `key`: a hash of the run's seed and of the operation's path. */
struct dropout_stream {
    uint64_t key, step;
    uint32_t example;
};

struct dropout_kernels {
    /* The 32 random bits of the elements 0 to count - 1. */
    void (*bits)(const struct dropout_stream *stream, size_t count, uint32_t *out);
    /* out = the element falls ? 0 : x * (1 / (1 - rate)), for one example; 0 <= rate < 1. An
     * element falls if its random bits are below rate * 2^32. `out` may be `x`. */
    void (*apply)(const struct dropout_stream *stream, size_t count, float rate, const float *x,
                  float *out);
};

#endif
