#include "model/layer_types.h"

#include <assert.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/base/text.h"
#include "model/layer_joins.h"

/* ---------------------------------------------------------------- the keys */

static const char *const activations[] = {
    [TN_LINEAR] = "linear", [TN_RELU] = "relu",   [TN_LEAKY_RELU] = "leaky_relu",
    [TN_GELU] = "gelu",     [TN_SILU] = "silu",   [TN_SIGMOID] = "sigmoid",
    [TN_TANH] = "tanh",     [TN_TANH + 1] = NULL,
};
static const char *const paddings[] = {"same", "none", NULL};

#define MOST       (1 << 20)
#define AT(member) JSON_MEMBER(struct layer, member)
#define COUNT(key, low, high)                                                                      \
    {                                                                                              \
        .name = #key, .type = FIELD_UINT, AT(key), .least = low, .most = high                      \
    }
#define OPTIONAL_COUNT(key, low, high)                                                             \
    {                                                                                              \
        .name = #key, .type = FIELD_UINT, AT(key), .least = low, .most = high, .optional = true    \
    }
#define ACTIVATION                                                                                 \
    {                                                                                              \
        .name = "activation", .type = FIELD_ENUM, AT(activation), .names = activations,            \
        .optional = true                                                                           \
    }
#define PADDING                                                                                    \
    {                                                                                              \
        .name = "padding", .type = FIELD_ENUM, AT(padding), .names = paddings, .optional = true    \
    }
#define CAUSAL                                                                                     \
    {                                                                                              \
        .name = "causal", .type = FIELD_BOOL, AT(causal), .optional = true                         \
    }
#define DROPOUT                                                                                    \
    {                                                                                              \
        .name = "dropout", .type = FIELD_REAL, AT(dropout), .most = 0.99, .optional = true         \
    }

static const struct json_field dense_keys[] = {COUNT(units, 1, JOB_OUTPUTS_MAX), ACTIVATION};
static const struct json_field conv2d_keys[] = {
    COUNT(filters, 1, MOST),
    OPTIONAL_COUNT(kernel, 1, 1024),
    OPTIONAL_COUNT(stride, 1, 1024),
    PADDING,
    ACTIVATION,
};
static const struct json_field pool_keys[] = {
    OPTIONAL_COUNT(size, 1, 1024),
    OPTIONAL_COUNT(stride, 1, 1024),
    PADDING,
};
static const struct json_field dimension = {
    .type = FIELD_UINT, .size = sizeof(uint32_t), .least = 1, .most = MOST};
static const struct json_field reshape_keys[] = {
    {.name = "shape",
     .type = FIELD_LIST,
     AT(shape),
     .element = &dimension,
     .least = 1,
     .length_offset = offsetof(struct layer, shape_count)},
};
static const struct json_field activation_keys[] = {
    {.name = "kind", .type = FIELD_ENUM, AT(activation), .names = activations},
};
static const struct json_field dropout_keys[] = {
    {.name = "rate", .type = FIELD_REAL, AT(rate), .most = 0.99},
};
static const struct json_field embedding_keys[] = {COUNT(rows, 1, MOST), COUNT(width, 1, MOST)};
static const struct json_field slice_keys[] = {
    {.name = "first", .type = FIELD_UINT, AT(first), .most = MOST, .optional = true},
    COUNT(count, 1, MOST),
};
static const struct json_field attention_keys[] = {COUNT(heads, 1, 1024), CAUSAL, DROPOUT};
static const struct json_field block_keys[] = {
    COUNT(heads, 1, 1024),
    OPTIONAL_COUNT(mlp_width, 1, MOST),
    CAUSAL,
    DROPOUT,
};

/* -------------------------------------------------------------- the layers */

static tn_tensor build_dense(struct tn_graph *graph, const char *name, tn_tensor x,
                             const struct layer *layer)
{
    return tn_dense(graph, name, x, layer->units, (enum tn_activation)layer->activation);
}

static struct tn_window window_of(const struct layer *layer, uint32_t size, uint32_t stride)
{
    return (struct tn_window){
        .height = size,
        .width = size,
        .stride_height = stride,
        .stride_width = stride,
        .same = layer->padding == 0,
    };
}

static tn_tensor build_conv2d(struct tn_graph *graph, const char *name, tn_tensor x,
                              const struct layer *layer)
{
    return tn_conv(graph, name, x, layer->filters, window_of(layer, layer->kernel, layer->stride),
                   (enum tn_activation)layer->activation);
}

static struct tn_window pool_of(const struct layer *layer)
{
    return window_of(layer, layer->size, layer->stride == 0 ? layer->size : layer->stride);
}

static tn_tensor build_max_pool(struct tn_graph *graph, const char *name, tn_tensor x,
                                const struct layer *layer)
{
    (void)name;
    return tn_max_pool(graph, x, pool_of(layer));
}

static tn_tensor build_mean_pool(struct tn_graph *graph, const char *name, tn_tensor x,
                                 const struct layer *layer)
{
    (void)name;
    return tn_mean_pool(graph, x, pool_of(layer));
}

static tn_tensor build_global_max_pool(struct tn_graph *graph, const char *name, tn_tensor x,
                                       const struct layer *layer)
{
    (void)name;
    (void)layer;
    return tn_global_max_pool(graph, x);
}

/* The mean over an image, or over a sequence [batch][time][width]. */
static tn_tensor build_global_mean_pool(struct tn_graph *graph, const char *name, tn_tensor x,
                                        const struct layer *layer)
{
    (void)name;
    (void)layer;
    if (tn_shape_of(graph, x).rank == 3) { return tn_mean(graph, x, (const uint32_t[]){1}, 1); }
    return tn_global_mean_pool(graph, x);
}

static tn_tensor build_flatten(struct tn_graph *graph, const char *name, tn_tensor x,
                               const struct layer *layer)
{
    struct tn_shape shape = tn_shape_of(graph, x);
    int64_t elements = 1;
    (void)name;
    (void)layer;
    for (uint32_t d = 1; d < shape.rank; d++) { elements *= shape.dims[d]; }
    return tn_reshape(graph, x, TN_SHAPE(TN_BATCH, elements));
}

static tn_tensor build_reshape(struct tn_graph *graph, const char *name, tn_tensor x,
                               const struct layer *layer)
{
    struct tn_shape shape = {.rank = 1 + layer->shape_count, .dims = {TN_BATCH}};
    (void)name;
    for (uint32_t d = 0; d < layer->shape_count; d++) { shape.dims[1 + d] = layer->shape[d]; }
    return tn_reshape(graph, x, shape);
}

/* Part of the last dimension: also of ids, before an embedding. */
static tn_tensor build_slice(struct tn_graph *graph, const char *name, tn_tensor x,
                             const struct layer *layer)
{
    uint32_t rank = tn_shape_of(graph, x).rank;
    (void)name;
    return tn_slice(graph, x, rank == 0 ? 0 : rank - 1, layer->first, layer->count);
}

static tn_tensor build_activation(struct tn_graph *graph, const char *name, tn_tensor x,
                                  const struct layer *layer)
{
    (void)name;
    return tn_activate(graph, x, (enum tn_activation)layer->activation);
}

static tn_tensor build_dropout(struct tn_graph *graph, const char *name, tn_tensor x,
                               const struct layer *layer)
{
    return tn_dropout(graph, name, x, (float)layer->rate);
}

static tn_tensor build_layer_norm(struct tn_graph *graph, const char *name, tn_tensor x,
                                  const struct layer *layer)
{
    (void)layer;
    return tn_layer_norm(graph, name, x);
}

static tn_tensor build_batch_norm(struct tn_graph *graph, const char *name, tn_tensor x,
                                  const struct layer *layer)
{
    (void)layer;
    return tn_batch_norm(graph, name, x);
}

static tn_tensor build_embedding(struct tn_graph *graph, const char *name, tn_tensor x,
                                 const struct layer *layer)
{
    if (tn_shape_of(graph, x).rank > 0 && tn_type_of(graph, x) == TN_FLOAT32) {
        return tn_graph_fail(graph,
                             "embedding '%s': x has numbers, not ids: put it first, behind nothing "
                             "but slices and reshapes",
                             name);
    }
    return tn_embed(graph, name, x, layer->rows, layer->width);
}

/* A learned vector for each position of a sequence [batch][time][width]. */
static tn_tensor build_positions(struct tn_graph *graph, const char *name, tn_tensor x,
                                 const struct layer *layer)
{
    struct tn_variable_options options = {.init = TN_INIT_NORMAL, .scale = 0.02F};
    struct tn_shape shape = tn_shape_of(graph, x);
    (void)layer;
    if (shape.rank != 3) {
        return tn_graph_fail(
            graph,
            "positions '%s': x must be [batch, time, width]: give model.shape, or put a "
            "reshape or an embedding in front",
            name);
    }
    tn_scope_begin(graph, name);
    tn_tensor rows = tn_variable(graph, "rows", TN_SHAPE(shape.dims[1], shape.dims[2]), &options);
    tn_scope_end(graph);
    return tn_add(graph, x, rows);
}

static tn_tensor build_self_attention(struct tn_graph *graph, const char *name, tn_tensor x,
                                      const struct layer *layer)
{
    return tn_self_attention(graph, name, x, layer->heads, layer->causal, (float)layer->dropout);
}

static tn_tensor build_transformer_block(struct tn_graph *graph, const char *name, tn_tensor x,
                                         const struct layer *layer)
{
    struct tn_shape shape = tn_shape_of(graph, x);
    uint32_t width = shape.rank == 0 ? 1 : (uint32_t)shape.dims[shape.rank - 1];
    uint32_t mlp_width = layer->mlp_width != 0 ? layer->mlp_width : 4 * width;
    return tn_transformer_block(graph, name, x, layer->heads, mlp_width, layer->causal,
                                (float)layer->dropout);
}

static tn_tensor build_factorization_machine(struct tn_graph *graph, const char *name, tn_tensor x,
                                             const struct layer *layer)
{
    (void)name;
    (void)layer;
    return tn_factorization_machine(graph, x);
}

static tn_tensor build_dot_interaction(struct tn_graph *graph, const char *name, tn_tensor x,
                                       const struct layer *layer)
{
    (void)name;
    (void)layer;
    return tn_dot_interaction(graph, x);
}

/* --------------------------------------------------------------- the table */

#define KEYS(array)                                                                                \
    {                                                                                              \
        JSON_FIELDS(array), .rules = JSON_ALL_REQUIRED | JSON_UNKNOWN_REFUSED | JSON_WHOLE_REALS,  \
                            .status = TN_EINVAL                                                    \
    }
#define NO_KEYS                                                                                    \
    {                                                                                              \
        .count = 0                                                                                 \
    }

static const struct layer_type types[] = {
    {"dense", KEYS(dense_keys), "units", {0}, build_dense},
    {"conv2d", KEYS(conv2d_keys), "filters", {.kernel = 3, .stride = 1}, build_conv2d},
    {"max_pool", KEYS(pool_keys), "size", {.size = 2, .padding = 1}, build_max_pool},
    {"mean_pool", KEYS(pool_keys), "size", {.size = 2, .padding = 1}, build_mean_pool},
    {"global_max_pool", NO_KEYS, NULL, {0}, build_global_max_pool},
    {"global_mean_pool", NO_KEYS, NULL, {0}, build_global_mean_pool},
    {"flatten", NO_KEYS, NULL, {0}, build_flatten},
    {"reshape", KEYS(reshape_keys), "shape", {0}, build_reshape},
    {"slice", KEYS(slice_keys), "count", {0}, build_slice},
    {"activation", KEYS(activation_keys), "kind", {0}, build_activation},
    {"relu", NO_KEYS, NULL, {.activation = TN_RELU}, build_activation},
    {"leaky_relu", NO_KEYS, NULL, {.activation = TN_LEAKY_RELU}, build_activation},
    {"gelu", NO_KEYS, NULL, {.activation = TN_GELU}, build_activation},
    {"silu", NO_KEYS, NULL, {.activation = TN_SILU}, build_activation},
    {"sigmoid", NO_KEYS, NULL, {.activation = TN_SIGMOID}, build_activation},
    {"tanh", NO_KEYS, NULL, {.activation = TN_TANH}, build_activation},
    {"dropout", KEYS(dropout_keys), "rate", {0}, build_dropout},
    {"layer_norm", NO_KEYS, NULL, {0}, build_layer_norm},
    {"batch_norm", NO_KEYS, NULL, {0}, build_batch_norm},
    {"embedding", KEYS(embedding_keys), NULL, {0}, build_embedding},
    {"positions", NO_KEYS, NULL, {0}, build_positions},
    {"self_attention", KEYS(attention_keys), "heads", {0}, build_self_attention},
    {"transformer_block", KEYS(block_keys), "heads", {0}, build_transformer_block},
    {"factorization_machine", NO_KEYS, NULL, {0}, build_factorization_machine},
    {"dot_interaction", NO_KEYS, NULL, {0}, build_dot_interaction},
};

enum { TYPES = sizeof types / sizeof types[0] };

enum tn_status layer_type_find(const char *name, const char *where, const struct layer_type **out,
                               struct error *error)
{
    const char *names[TYPES + LAYER_JOINS];
    char list[512];
    struct text text = text_begin(list, sizeof list);
    assert(name != NULL && where != NULL && out != NULL);
    for (size_t i = 0; i < TYPES; i++) {
        *out = &types[i];
        if (strcmp(types[i].name, name) == 0) { return TN_OK; }
        names[i] = types[i].name;
    }
    *out = NULL;
    for (size_t i = 0; i < LAYER_JOINS; i++) { names[TYPES + i] = layer_joins[i].name; }
    const char *near = nearest_word(name, names, TYPES + LAYER_JOINS);
    if (near != NULL) {
        return error_set(error, TN_EINVAL, "%s: unknown layer '%.40s': did you mean \"%s\"?", where,
                         name, near);
    }
    for (size_t i = 0; i < TYPES + LAYER_JOINS; i++) {
        if (i > 0) { text_add(&text, ", "); }
        text_add(&text, names[i]);
    }
    return error_set(error, TN_EINVAL, "%s: unknown layer '%.40s': one of %s", where, name, list);
}
