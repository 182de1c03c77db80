/*
 * bench/plain.h: the networks of bench_plain: the gradient of some examples on one thread, made
 * directly of the portable kernels, without slices, graph and messages.
 *
 * Threads: each has its own network.
 */
#ifndef BENCH_PLAIN_H
#define BENCH_PLAIN_H

#include <stdint.h>

#include "kernels/portable/portable.h"

struct plain_network {
    /* The gradient of the mean loss of `inputs` at `values`. */
    void (*gradient)(void *self, const float *values, const float *inputs, const int32_t *labels,
                     float *gradient);
    void *self;
    size_t parameters;
};

/* A softmax classifier with one hidden layer, and the network of cnn.h, for `batch` examples. */
struct plain_network plain_mlp(const struct portable *kernels, size_t batch, size_t inputs,
                               size_t hidden, size_t outputs);
struct plain_network plain_cnn(const struct portable *kernels, size_t batch);

#endif
