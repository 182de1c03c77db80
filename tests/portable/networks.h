/*
 * tests/portable/networks.h: small networks with every family of operations, and three steps of SGD
 * by a program. Needs only the public headers: digest.c is also built for other processors.
 */
#ifndef TESTS_PORTABLE_NETWORKS_H
#define TESTS_PORTABLE_NETWORKS_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tanist/program.h"

enum { NETWORK_EXAMPLES = 5, NETWORK_STEPS = 3 };

static inline tn_tensor network_weights(struct tn_graph *g, const char *name, struct tn_shape shape)
{
    struct tn_variable_options options = {.init = TN_INIT_NORMAL, .scale = 0.2F};
    return tn_variable(g, name, shape, &options);
}

static inline tn_tensor network_dense(struct tn_graph *g, const char *name, tn_tensor x,
                                      int64_t width, enum tn_activation activation)
{
    struct tn_shape shape = tn_shape_of(g, x);
    tn_scope_begin(g, name);
    tn_tensor w = network_weights(g, "w", TN_SHAPE(shape.dims[shape.rank - 1], width));
    tn_tensor y =
        tn_add(g, tn_matmul(g, x, w, false, false), network_weights(g, "b", TN_SHAPE(width)));
    tn_scope_end(g);
    return tn_activate(g, y, activation);
}

static inline tn_tensor network_labels(struct tn_graph *g)
{
    return tn_placeholder(g, "label", TN_UINT8, TN_SHAPE(TN_BATCH));
}

static inline void network_mlp(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 61));
    x = network_dense(g, "one", x, 47, TN_RELU);
    x = network_dense(g, "two", x, 35, TN_TANH);
    x = network_dense(g, "three", x, 35, TN_LEAKY_RELU);
    x = network_dense(g, "four", x, 10, TN_LINEAR);
    tn_loss(g, tn_softmax_cross_entropy(g, x, network_labels(g)), 1);
}

static inline tn_tensor network_conv(struct tn_graph *g, const char *name, tn_tensor x,
                                     int64_t filters, struct tn_window window, int64_t groups)
{
    int64_t channels = tn_shape_of(g, x).dims[3];
    tn_scope_begin(g, name);
    tn_tensor w =
        network_weights(g, "w", TN_SHAPE(window.height, window.width, channels / groups, filters));
    tn_tensor b = network_weights(g, "b", TN_SHAPE(filters));
    tn_scope_end(g);
    return tn_activate(g, tn_add(g, tn_conv2d(g, x, w, window, (uint32_t)groups), b), TN_RELU);
}

/* Convolutions of all kinds, batch norm, both kinds of pooling, smoothed labels. */
static inline void network_cnn(struct tn_graph *g)
{
    struct tn_window same = {.height = 3, .width = 3, .same = true},
                     one = {.height = 1, .width = 1};
    struct tn_window two = {.height = 2, .width = 2, .stride_height = 2, .stride_width = 2};
    struct tn_window strided = {.height = 3, .width = 3, .stride_height = 2, .stride_width = 2};
    tn_tensor x = tn_placeholder(g, "image", TN_UINT8, TN_SHAPE(TN_BATCH, 17, 17, 1));
    x = tn_cast(g, x, TN_FLOAT32, 1.0F / 255);
    x = tn_max_pool(g, network_conv(g, "conv", x, 20, same, 1), two);
    x = tn_normalize_batch(g, "norm", x, network_weights(g, "gain", TN_SHAPE(20)),
                           network_weights(g, "shift", TN_SHAPE(20)), 0.9F, 1e-3F);
    x = network_conv(g, "depthwise", x, 20, same, 20);
    x = network_conv(g, "pointwise", x, 36, one, 1);
    x = network_conv(g, "groups", x, 24, strided, 2);
    x = tn_activate(g, tn_mean_pool(g, x, two), TN_SILU);
    x = tn_reshape(g, x, TN_SHAPE(TN_BATCH, 24));
    x = network_dense(g, "hidden", x, 33, TN_SIGMOID);
    x = network_dense(g, "out", x, 10, TN_LINEAR);
    tn_loss(g, tn_softmax_cross_entropy_smoothed(g, x, network_labels(g), 0.1F), 1);
}

static inline tn_tensor network_norm(struct tn_graph *g, const char *name, tn_tensor x)
{
    struct tn_shape shape = tn_shape_of(g, x), width = TN_SHAPE(shape.dims[shape.rank - 1]);
    tn_scope_begin(g, name);
    tn_tensor gain = network_weights(g, "gain", width), bias = network_weights(g, "bias", width);
    tn_scope_end(g);
    return tn_normalize_layer(g, x, gain, bias, 1e-5F);
}

static inline tn_tensor network_heads(struct tn_graph *g, const char *name, tn_tensor x)
{
    enum { TIME = 37, HEADS = 3, WIDTH = 13 };
    x = network_dense(g, name, x, HEADS * WIDTH, TN_LINEAR);
    return tn_permute(g, tn_reshape(g, x, TN_SHAPE(TN_BATCH, TIME, HEADS, WIDTH)),
                      (uint32_t[]){0, 2, 1, 3}, 4);
}

/* A block of a transformer with dropout and tied weights. */
static inline void network_transformer(struct tn_graph *g)
{
    enum { TIME = 37, WIDTH = 39, TOKENS = 30 };
    tn_tensor ids = tn_placeholder(g, "token", TN_INT32, TN_SHAPE(TN_BATCH, TIME));
    tn_tensor rows = network_weights(g, "rows", TN_SHAPE(TOKENS, WIDTH));
    tn_tensor x =
        tn_add(g, tn_gather(g, rows, ids), network_weights(g, "positions", TN_SHAPE(TIME, WIDTH)));
    tn_tensor a = network_norm(g, "norm1", x);
    a = tn_attention(g, network_heads(g, "q", a), network_heads(g, "k", a),
                     network_heads(g, "v", a), true, 0);
    a = tn_reshape(g, tn_permute(g, a, (uint32_t[]){0, 2, 1, 3}, 4),
                   TN_SHAPE(TN_BATCH, TIME, WIDTH));
    x = tn_add(g, x, tn_dropout(g, "drop", network_dense(g, "o", a, WIDTH, TN_LINEAR), 0.2F));
    a = network_dense(g, "up", network_norm(g, "norm2", x), 4 * WIDTH, TN_GELU);
    x = tn_add(g, x, network_dense(g, "down", a, WIDTH, TN_LINEAR));
    x = tn_matmul(g, network_norm(g, "norm3", x), rows, false, true);
    tn_tensor next = tn_placeholder(g, "next", TN_INT32, TN_SHAPE(TN_BATCH, TIME));
    tn_loss(g, tn_softmax_cross_entropy(g, x, next), 1);
}

/* Losses of elements, powers, exp and log, and attention without a mask by its parts. */
static inline void network_others(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 23, 9));
    tn_tensor target = tn_placeholder(g, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH, 23, 23));
    tn_tensor q = network_dense(g, "q", x, 17, TN_LINEAR);
    tn_tensor p = tn_softmax(g, tn_scale(g, tn_matmul(g, q, q, false, true), 0.3F));
    tn_tensor size = tn_power(g, tn_add(g, tn_multiply(g, q, q), tn_scalar(g, 0.5F)), 1.3F);
    tn_tensor total = tn_log(g, tn_sum(g, tn_exp(g, size), (uint32_t[]){1}, 1));
    tn_tensor mean = tn_mean(g, tn_clip(g, total, -3, 3), (uint32_t[]){1}, 1);
    tn_loss(g, tn_sigmoid_cross_entropy(g, p, target), 1);
    tn_loss(g, tn_huber_error(g, p, target, 0.4F), 0.5F);
    tn_loss(g, mean, 0.1F);
}

static const struct network {
    const char *name;
    void (*build)(struct tn_graph *g);
} networks[] = {
    {"mlp", network_mlp},
    {"cnn", network_cnn},
    {"transformer", network_transformer},
    {"others", network_others},
};

enum { NETWORKS = sizeof networks / sizeof networks[0] };

static inline struct tn_graph *network_graph(const struct network *network)
{
    struct tn_graph *graph = NULL;
    struct tn_error error = {.text = ""};
    if (tn_graph_create(&graph, NULL) != TN_OK) { abort(); }
    network->build(graph);
    if (tn_graph_status(graph, &error) != TN_OK) {
        (void)fprintf(stderr, "%s: %s\n", network->name, error.text);
        abort();
    }
    return graph;
}

/* Fill a field, if there is one, by a small generator. */
static inline void network_fill_view(struct tn_view field, uint64_t limit)
{
    uint64_t state = 88172645463325252U;
    size_t count = 1;
    for (uint32_t i = 0; i < field.shape.rank; i++) { count *= (size_t)field.shape.dims[i]; }
    for (size_t i = 0; field.data != NULL && i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t number = state >> 33;
        switch (field.type) {
        case TN_FLOAT32: ((float *)field.data)[i] = (float)(number % 2000) / 1000 - 1; break;
        case TN_INT32: ((int32_t *)field.data)[i] = (int32_t)(number % limit); break;
        case TN_INT64: ((int64_t *)field.data)[i] = (int64_t)(number % limit); break;
        case TN_UINT8: ((uint8_t *)field.data)[i] = (uint8_t)(number % limit); break;
        }
    }
}

static inline void network_fill(const struct tn_program *program, const char *name, uint64_t limit)
{
    network_fill_view(tn_program_field(program, name), limit);
}

static inline uint64_t network_hash(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

/* Digests of the losses, of the gradients and of the variables after the steps. */
struct network_digests {
    uint64_t loss, gradient, values;
};

/* Each step has two slices, which share packed weights. The program is in training mode. */
static inline struct network_digests network_train(struct tn_program *program)
{
    size_t count = (size_t)tn_program_parameters(program);
    float *values = malloc(3 * count * sizeof *values), *sum = values + count, *part = sum + count;
    struct network_digests digests = {1, 1, 1};
    assert(values != NULL);
    tn_program_initialize(program, 5, values);
    network_fill(program, "x", 1);
    network_fill(program, "y", 1);
    network_fill(program, "image", 256);
    network_fill(program, "label", 10);
    network_fill(program, "token", 30);
    network_fill(program, "next", 30);
    for (uint64_t step = 0; step < NETWORK_STEPS; step++) {
        for (uint64_t slice = 0; slice < 2; slice++) {
            struct tn_run run = {
                .struct_size = sizeof run,
                .values = values,
                .gradient = slice == 0 ? sum : part,
                .seed = 9,
                .step = step,
                .first = slice * NETWORK_EXAMPLES,
                .scale = 0.5F / NETWORK_EXAMPLES,
                .version = step + 1,
            };
            if (tn_program_run(program, &run, NULL) != TN_OK) { abort(); }
            digests.loss = network_hash(digests.loss, &run.loss_sum, sizeof run.loss_sum);
        }
        for (size_t i = 0; i < count; i++) {
            sum[i] += part[i];
            values[i] -= 0.1F * sum[i];
        }
        digests.gradient = network_hash(digests.gradient, sum, count * sizeof *sum);
    }
    digests.values = network_hash(digests.values, values, count * sizeof *values);
    free(values);
    return digests;
}

#endif
