/* model/export/onnx_images.c: convolutions and pooling. Graphs have the channels last, ONNX has
 * them first: each operation is put between two transpositions, which runtimes remove. */
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "model/export/onnx_operators.h"

static const char *transposed(struct to_onnx_builder *builder, const char *x, const int64_t *order)
{
    const char *y = to_onnx_node1(builder, "Transpose", x, NULL);
    to_onnx_attribute_ints(builder, "perm", order, 4);
    return y;
}

static const char *channels_first(struct to_onnx_builder *builder, const char *x)
{
    return transposed(builder, x, (const int64_t[]){0, 3, 1, 2});
}

static const char *channels_last(struct to_onnx_builder *builder, const char *x)
{
    return transposed(builder, x, (const int64_t[]){0, 2, 3, 1});
}

static void add_window(struct to_onnx_builder *builder, const struct node *node)
{
    const int64_t *integers = node->attributes.integers;
    to_onnx_attribute_ints(builder, "kernel_shape", &integers[WINDOW_HEIGHT], 2);
    to_onnx_attribute_ints(builder, "strides", &integers[WINDOW_STRIDE_Y], 2);
    to_onnx_attribute_ints(builder, "pads", &integers[WINDOW_TOP], 4);
}

/* [height][width][channels][filters] -> [filters][channels][height][width] */
static const char *write_conv2d(struct to_onnx_builder *builder, const struct node *node,
                                const char *const *in)
{
    const char *weights = transposed(builder, in[1], (const int64_t[]){3, 2, 0, 1});
    const char *x = channels_first(builder, in[0]);
    const char *y = to_onnx_node2(builder, "Conv", x, weights, NULL);
    add_window(builder, node);
    to_onnx_attribute_int(builder, "group", node->attributes.integers[WINDOW_GROUPS]);
    return channels_last(builder, y);
}

/* Padding takes no part, which is the default of ONNX. */
static const char *pool(struct to_onnx_builder *builder, const char *operator,
                        const struct node * node, const char *x)
{
    const char *y = to_onnx_node1(builder, operator, channels_first(builder, x), NULL);
    add_window(builder, node);
    return channels_last(builder, y);
}

static const char *write_max_pool(struct to_onnx_builder *builder, const struct node *node,
                                  const char *const *in)
{
    return pool(builder, "MaxPool", node, in[0]);
}

static const char *write_mean_pool(struct to_onnx_builder *builder, const struct node *node,
                                   const char *const *in)
{
    return pool(builder, "AveragePool", node, in[0]);
}

const struct to_onnx_operator to_onnx_images[] = {
    {&op_conv2d, write_conv2d, NULL},
    {&op_max_pool, write_max_pool, NULL},
    {&op_mean_pool, write_mean_pool, NULL},
    {NULL, NULL, NULL},
};
