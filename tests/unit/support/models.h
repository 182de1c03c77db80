/* tests/unit/support/models.h: networks of usual shapes, for gradients and memory plans. */
#ifndef TESTS_UNIT_SUPPORT_MODELS_H
#define TESTS_UNIT_SUPPORT_MODELS_H

#include "tests/unit/support/graphs.h"

static inline tn_tensor labels_field(struct tn_graph *graph)
{
    return tn_placeholder(graph, "label", TN_UINT8, TN_SHAPE(TN_BATCH));
}

/* Images of side x side, convolution, batch norm, pooling, dropout; `filters` in the first
 * layer. */
static inline struct tn_graph *cnn_graph(int64_t side, int64_t filters)
{
    struct tn_graph *graph = new_graph();
    struct tn_window same = {.same = true};
    struct tn_window pool = {.height = 2, .width = 2, .stride_height = 2, .stride_width = 2};
    tn_tensor x = tn_placeholder(graph, "image", TN_UINT8, TN_SHAPE(TN_BATCH, side, side, 1));
    x = tn_cast(graph, x, TN_FLOAT32, 1.0F / 255);
    x = tn_conv2d(graph, x, weights_of(graph, "conv1", TN_SHAPE(3, 3, 1, filters)), same, 1);
    x = tn_normalize_batch(graph, "norm", x, weights_of(graph, "gain", TN_SHAPE(filters)),
                           weights_of(graph, "shift", TN_SHAPE(filters)), 0.9F, 1e-3F);
    x = tn_max_pool(graph, tn_activate(graph, x, TN_RELU), pool);
    x = tn_conv2d(graph, x, weights_of(graph, "conv2", TN_SHAPE(3, 3, filters, 2 * filters)), same,
                  1);
    x = tn_add(graph, x, weights_of(graph, "bias2", TN_SHAPE(2 * filters)));
    x = tn_max_pool(graph, tn_activate(graph, x, TN_RELU), pool);
    int64_t flat = side / 4 * (side / 4) * 2 * filters;
    x = dense_layer(graph, "hidden", tn_reshape(graph, x, TN_SHAPE(TN_BATCH, flat)), 16);
    x = tn_dropout(graph, "dropout", tn_activate(graph, x, TN_SILU), 0.25F);
    x = dense_layer(graph, "output", x, 5);
    tn_loss(graph, tn_softmax_cross_entropy_smoothed(graph, x, labels_field(graph), 0.1F), 1);
    tn_metric(graph, "accuracy", tn_is_correct(graph, x, labels_field(graph)));
    return graph;
}

/* A projection into heads: [batch][heads][time][width / heads]. */
static inline tn_tensor heads_of(struct tn_graph *graph, const char *name, tn_tensor x,
                                 int64_t heads)
{
    struct tn_shape shape = tn_shape_of(graph, x);
    int64_t time = shape.dims[1], width = shape.dims[2];
    x = tn_matmul(graph, x, weights_of(graph, name, TN_SHAPE(width, width)), false, false);
    x = tn_reshape(graph, x, TN_SHAPE(TN_BATCH, time, heads, width / heads));
    return tn_permute(graph, x, (uint32_t[]){0, 2, 1, 3}, 4);
}

static inline tn_tensor norm_of(struct tn_graph *graph, const char *name, tn_tensor x)
{
    tn_scope_begin(graph, name);
    struct tn_shape width = TN_SHAPE(tn_shape_of(graph, x).dims[2]);
    x = tn_normalize_layer(graph, x, weights_of(graph, "gain", width),
                           weights_of(graph, "bias", width), 1e-5F);
    tn_scope_end(graph);
    return x;
}

static inline tn_tensor transformer_block(struct tn_graph *graph, tn_tensor x, int64_t heads)
{
    struct tn_shape shape = tn_shape_of(graph, x);
    int64_t width = shape.dims[2];
    tn_tensor a = norm_of(graph, "norm1", x);
    tn_tensor q = heads_of(graph, "q", a, heads), k = heads_of(graph, "k", a, heads);
    a = tn_attention(graph, q, k, heads_of(graph, "v", a, heads), true, 0);
    a = tn_reshape(graph, tn_permute(graph, a, (uint32_t[]){0, 2, 1, 3}, 4), shape);
    a = tn_matmul(graph, a, weights_of(graph, "o", TN_SHAPE(width, width)), false, false);
    x = tn_add(graph, x, tn_dropout(graph, "dropout", a, 0.1F));
    tn_tensor m = norm_of(graph, "norm2", x);
    m = tn_matmul(graph, m, weights_of(graph, "up", TN_SHAPE(width, 4 * width)), false, false);
    m = tn_add(graph, m, weights_of(graph, "up_bias", TN_SHAPE(4 * width)));
    m = tn_activate(graph, m, TN_GELU);
    m = tn_matmul(graph, m, weights_of(graph, "down", TN_SHAPE(4 * width, width)), false, false);
    return tn_add(graph, x, m);
}

/* A language model with tied weights: two gradients meet in the embedding. */
static inline struct tn_graph *transformer_graph(int64_t time, int64_t width, int64_t heads,
                                                 uint32_t blocks, int64_t tokens)
{
    struct tn_graph *graph = new_graph();
    tn_tensor ids = tn_placeholder(graph, "tokens", TN_INT32, TN_SHAPE(TN_BATCH, time));
    tn_tensor next = tn_placeholder(graph, "next", TN_INT32, TN_SHAPE(TN_BATCH, time));
    tn_tensor rows = weights_of(graph, "embedding", TN_SHAPE(tokens, width));
    tn_tensor x = tn_add(graph, tn_gather(graph, rows, ids),
                         weights_of(graph, "positions", TN_SHAPE(time, width)));
    for (uint32_t i = 0; i < blocks; i++) {
        char name[32];
        snprintf(name, sizeof name, "block%u", i);
        tn_scope_begin(graph, name);
        x = transformer_block(graph, x, heads);
        tn_scope_end(graph);
    }
    x = tn_matmul(graph, norm_of(graph, "norm", x), rows, false, true);
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, next), 1);
    return graph;
}

/* Two losses: reconstruction, and a penalty on the code. */
static inline struct tn_graph *autoencoder_graph(int64_t inputs, int64_t code)
{
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, inputs));
    tn_tensor z = tn_activate(graph, dense_layer(graph, "encoder", x, code), TN_TANH);
    tn_tensor y = dense_layer(graph, "decoder", z, inputs);
    tn_loss(graph, tn_huber_error(graph, y, x, 0.5F), 1);
    tn_loss(graph, tn_mean(graph, tn_power(graph, z, 2), (uint32_t[]){1}, 1), 0.1F);
    tn_output(graph, "code", z);
    return graph;
}

#endif
