/* model/layers.c: tanist/layers.h on the functions of tanist/graph.h. */
#include "tanist/layers.h"

#include <assert.h>
#include <inttypes.h>

enum { DOT_FEATURES_MAX = 256 };

/* Relatives of relu keep the variance of half of their inputs: He et al. 2015. */
static enum tn_init init_before(enum tn_activation activation)
{
    switch (activation) {
    case TN_RELU:
    case TN_LEAKY_RELU:
    case TN_GELU:
    case TN_SILU: return TN_INIT_HE_NORMAL;
    case TN_LINEAR:
    case TN_SIGMOID:
    case TN_TANH: break;
    }
    return TN_INIT_GLOROT_UNIFORM;
}

/* A variable without weight decay that starts as `init`. */
static tn_tensor vector(struct tn_graph *graph, const char *name, int64_t size, enum tn_init init)
{
    struct tn_variable_options options = {.init = init, .no_weight_decay = true};
    return tn_variable(graph, name, TN_SHAPE(size), &options);
}

/* The size of the last dimension; 1 after an error. */
static int64_t width_of(const struct tn_graph *graph, tn_tensor x)
{
    struct tn_shape shape = tn_shape_of(graph, x);
    return shape.rank == 0 ? 1 : shape.dims[shape.rank - 1];
}

tn_tensor tn_dense(struct tn_graph *graph, const char *name, tn_tensor x, uint32_t width,
                   enum tn_activation activation)
{
    assert(graph != NULL);
    struct tn_variable_options options = {.init = init_before(activation)};
    tn_scope_begin(graph, name);
    tn_tensor weights =
        tn_variable(graph, "weights", TN_SHAPE(width_of(graph, x), width), &options);
    tn_tensor bias = vector(graph, "bias", width, TN_INIT_ZEROS);
    tn_tensor y = tn_add(graph, tn_matmul(graph, x, weights, false, false), bias);
    y = tn_activate(graph, y, activation);
    tn_scope_end(graph);
    return y;
}

tn_tensor tn_conv(struct tn_graph *graph, const char *name, tn_tensor x, uint32_t filters,
                  struct tn_window window, enum tn_activation activation)
{
    assert(graph != NULL);
    struct tn_variable_options options = {.init = init_before(activation)};
    int64_t height = window.height == 0 ? 1 : window.height;
    int64_t width = window.width == 0 ? 1 : window.width;
    tn_scope_begin(graph, name);
    tn_tensor weights = tn_variable(graph, "weights",
                                    TN_SHAPE(height, width, width_of(graph, x), filters), &options);
    tn_tensor bias = vector(graph, "bias", filters, TN_INIT_ZEROS);
    tn_tensor y = tn_add(graph, tn_conv2d(graph, x, weights, window, 1), bias);
    y = tn_activate(graph, y, activation);
    tn_scope_end(graph);
    return y;
}

tn_tensor tn_layer_norm(struct tn_graph *graph, const char *name, tn_tensor x)
{
    assert(graph != NULL);
    tn_scope_begin(graph, name);
    tn_tensor gain = vector(graph, "gain", width_of(graph, x), TN_INIT_ONES);
    tn_tensor bias = vector(graph, "bias", width_of(graph, x), TN_INIT_ZEROS);
    tn_tensor y = tn_normalize_layer(graph, x, gain, bias, 1e-5F);
    tn_scope_end(graph);
    return y;
}

tn_tensor tn_batch_norm(struct tn_graph *graph, const char *name, tn_tensor x)
{
    assert(graph != NULL);
    tn_scope_begin(graph, name);
    tn_tensor gain = vector(graph, "gain", width_of(graph, x), TN_INIT_ONES);
    tn_tensor bias = vector(graph, "bias", width_of(graph, x), TN_INIT_ZEROS);
    tn_tensor y = tn_normalize_batch(graph, "moments", x, gain, bias, 0.99F, 1e-3F);
    tn_scope_end(graph);
    return y;
}

tn_tensor tn_embed(struct tn_graph *graph, const char *name, tn_tensor ids, uint32_t rows,
                   uint32_t width)
{
    assert(graph != NULL);
    struct tn_variable_options options = {.init = TN_INIT_NORMAL, .scale = 0.02F};
    tn_scope_begin(graph, name);
    tn_tensor table = tn_variable(graph, "rows", TN_SHAPE(rows, width), &options);
    tn_tensor y = tn_gather(graph, table, ids);
    tn_scope_end(graph);
    return y;
}

/* [batch][time][width] -> [batch][heads][time][width / heads] */
static tn_tensor split_heads(struct tn_graph *graph, tn_tensor x, uint32_t heads)
{
    struct tn_shape shape = tn_shape_of(graph, x);
    if (shape.rank != 3) { return TN_NONE; } /* An earlier error. */
    struct tn_shape split = TN_SHAPE(shape.dims[0], shape.dims[1], heads, shape.dims[2] / heads);
    return tn_permute(graph, tn_reshape(graph, x, split), (const uint32_t[]){0, 2, 1, 3}, 4);
}

tn_tensor tn_self_attention(struct tn_graph *graph, const char *name, tn_tensor x, uint32_t heads,
                            bool causal, float dropout)
{
    assert(graph != NULL);
    struct tn_shape shape = tn_shape_of(graph, x);
    if (x.v != 0 && (shape.rank != 3 || heads == 0 || shape.dims[2] % heads != 0)) {
        return tn_graph_fail(graph,
                             "attention '%s': x must be [batch, time, width] and its width a "
                             "multiple of %u heads, at least 1",
                             name, heads);
    }
    uint32_t width = (uint32_t)width_of(graph, x);
    tn_scope_begin(graph, name);
    tn_tensor q = split_heads(graph, tn_dense(graph, "query", x, width, TN_LINEAR), heads);
    tn_tensor k = split_heads(graph, tn_dense(graph, "key", x, width, TN_LINEAR), heads);
    tn_tensor v = split_heads(graph, tn_dense(graph, "value", x, width, TN_LINEAR), heads);
    tn_tensor y = tn_attention(graph, q, k, v, causal, 0);
    y = tn_reshape(graph, tn_permute(graph, y, (const uint32_t[]){0, 2, 1, 3}, 4), shape);
    y = tn_dense(graph, "output", y, width, TN_LINEAR);
    if (dropout != 0) { y = tn_dropout(graph, "dropout", y, dropout); }
    tn_scope_end(graph);
    return y;
}

tn_tensor tn_transformer_block(struct tn_graph *graph, const char *name, tn_tensor x,
                               uint32_t heads, uint32_t mlp_width, bool causal, float dropout)
{
    assert(graph != NULL);
    uint32_t width = (uint32_t)width_of(graph, x);
    tn_scope_begin(graph, name);
    tn_tensor a = tn_layer_norm(graph, "norm1", x);
    x = tn_add(graph, x, tn_self_attention(graph, "attention", a, heads, causal, dropout));
    tn_tensor m = tn_layer_norm(graph, "norm2", x);
    m = tn_dense(graph, "up", m, mlp_width, TN_GELU);
    m = tn_dense(graph, "down", m, width, TN_LINEAR);
    if (dropout != 0) { m = tn_dropout(graph, "dropout", m, dropout); }
    x = tn_add(graph, x, m);
    tn_scope_end(graph);
    return x;
}

/* Features with a vector each: false, after an error, unless x is [batch, n, width] with
 * n >= `least`. */
static bool has_features(struct tn_graph *graph, const char *operation, tn_tensor x, int64_t least)
{
    const struct tn_shape shape = tn_shape_of(graph, x);
    if (x.v == 0) { return false; } /* An earlier error. */
    if (shape.rank == 3 && shape.dims[1] >= least && tn_type_of(graph, x) == TN_FLOAT32) {
        return true;
    }
    (void)tn_graph_fail(graph,
                        "%s: x must be numbers [batch, features, width] with at least %d features: "
                        "reshape it so that each feature has a vector",
                        operation, (int)least);
    return false;
}

/* Half of the square of the sum less the sum of the squares: without a term for each pair. */
tn_tensor tn_factorization_machine(struct tn_graph *graph, tn_tensor x)
{
    static const uint32_t first[] = {1};
    assert(graph != NULL);
    if (!has_features(graph, "factorization_machine", x, 1)) { return TN_NONE; }
    tn_tensor sum = tn_sum(graph, x, first, 1);
    tn_tensor squares = tn_sum(graph, tn_multiply(graph, x, x), first, 1);
    tn_tensor twice = tn_subtract(graph, tn_multiply(graph, sum, sum), squares);
    tn_tensor total = tn_reshape(graph, tn_sum(graph, twice, first, 1), TN_SHAPE(TN_BATCH, 1));
    return tn_scale(graph, total, 0.5F);
}

/* The rows of x x^T, each up to its diagonal. */
tn_tensor tn_dot_interaction(struct tn_graph *graph, tn_tensor x)
{
    assert(graph != NULL);
    if (!has_features(graph, "dot_interaction", x, 2)) { return TN_NONE; }
    const int64_t n = tn_shape_of(graph, x).dims[1];
    if (n > DOT_FEATURES_MAX) {
        return tn_graph_fail(graph, "dot_interaction: x has %" PRId64 " features: give at most %d",
                             n, DOT_FEATURES_MAX);
    }
    tn_tensor parts[DOT_FEATURES_MAX];
    tn_tensor dots =
        tn_reshape(graph, tn_matmul(graph, x, x, false, true), TN_SHAPE(TN_BATCH, n * n));
    for (int64_t i = 1; i < n; i++) { parts[i - 1] = tn_slice(graph, dots, 1, i * n, i); }
    return tn_concat(graph, parts, (uint32_t)(n - 1), 1);
}
