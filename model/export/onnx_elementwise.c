/* model/export/onnx_elementwise.c: functions of elements, softmax, norms. */
#include <math.h>

#include "graph/ops/ops.h"
#include "model/export/onnx_operators.h"

static const char *with_number(struct to_onnx_builder *builder, const char *operator,
                               const struct node * node, const char *x)
{
    const char *number = to_onnx_number(builder, node->attributes.numbers[0]);
    return to_onnx_node2(builder, operator, x, number, NULL);
}

static const char *write_scale(struct to_onnx_builder *builder, const struct node *node,
                               const char *const *in)
{
    return with_number(builder, "Mul", node, in[0]);
}

static const char *write_power(struct to_onnx_builder *builder, const struct node *node,
                               const char *const *in)
{
    return with_number(builder, "Pow", node, in[0]);
}

static const char *write_clip(struct to_onnx_builder *builder, const struct node *node,
                              const char *const *in)
{
    const char *low = to_onnx_number(builder, node->attributes.numbers[0]);
    const char *high = to_onnx_number(builder, node->attributes.numbers[1]);
    return to_onnx_node(builder, "Clip", (const char *[]){in[0], low, high}, 3, NULL);
}

static const char *write_leaky_relu(struct to_onnx_builder *builder, const struct node *node,
                                    const char *const *in)
{
    const char *y = to_onnx_node1(builder, "LeakyRelu", in[0], NULL);
    to_onnx_attribute_float(builder, "alpha", (float)node->attributes.numbers[0]);
    return y;
}

static const char *times(struct to_onnx_builder *builder, const char *x, double factor)
{
    return to_onnx_node2(builder, "Mul", x, to_onnx_number(builder, factor), NULL);
}

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), of opset 13 only. */
static const char *write_gelu(struct to_onnx_builder *builder, const struct node *node,
                              const char *const *in)
{
    (void)node;
    const char *x = in[0];
    const char *square = to_onnx_node2(builder, "Mul", x, x, NULL);
    const char *cube = times(builder, to_onnx_node2(builder, "Mul", square, x, NULL), 0.044715);
    const char *inner = times(builder, to_onnx_node2(builder, "Add", x, cube, NULL),
                              sqrt(2 / 3.14159265358979323846));
    const char *curve = to_onnx_node1(builder, "Tanh", inner, NULL);
    const char *gate = to_onnx_node2(builder, "Add", curve, to_onnx_number(builder, 1), NULL);
    return to_onnx_node2(builder, "Mul", times(builder, x, 0.5), gate, NULL);
}

static const char *write_silu(struct to_onnx_builder *builder, const struct node *node,
                              const char *const *in)
{
    (void)node;
    return to_onnx_node2(builder, "Mul", in[0], to_onnx_node1(builder, "Sigmoid", in[0], NULL),
                         NULL);
}

static const char *softmax(struct to_onnx_builder *builder, const char *x)
{
    const char *y = to_onnx_node1(builder, "Softmax", x, NULL);
    to_onnx_attribute_int(builder, "axis", -1);
    return y;
}

static const char *write_softmax(struct to_onnx_builder *builder, const struct node *node,
                                 const char *const *in)
{
    (void)node;
    return softmax(builder, in[0]);
}

static const char *write_layer_norm(struct to_onnx_builder *builder, const struct node *node,
                                    const char *const *in)
{
    const char *y = to_onnx_node(builder, "LayerNormalization", in, 3, NULL);
    to_onnx_attribute_int(builder, "axis", -1);
    to_onnx_attribute_float(builder, "epsilon", (float)node->attributes.numbers[0]);
    return y;
}

/* 0 where a query sees the key, else minus infinity: [time][time]. */
static const char *causal_mask(struct to_onnx_builder *builder, int64_t time)
{
    const struct tn_shape shape = {.rank = 2, .dims = {time, time}};
    const size_t bytes = (size_t)(time * time) * sizeof(float);
    float *mask = to_onnx_keep(builder, bytes);
    if (mask == NULL) { return ""; }
    for (int64_t query = 0; query < time; query++) {
        for (int64_t key = query + 1; key < time; key++) { mask[query * time + key] = -INFINITY; }
    }
    return to_onnx_initializer(builder, NULL, TN_FLOAT32, &shape, mask, bytes);
}

static const char *write_attention(struct to_onnx_builder *builder, const struct node *node,
                                   const char *const *in)
{
    static const int64_t order[] = {0, 1, 3, 2};
    const char *keys = to_onnx_node1(builder, "Transpose", in[1], NULL);
    to_onnx_attribute_ints(builder, "perm", order, 4);
    const char *scores = to_onnx_node2(builder, "MatMul", in[0], keys, NULL);
    scores = times(builder, scores, node->attributes.numbers[0]);
    if (node->attributes.integers[0] != 0) {
        const char *mask = causal_mask(builder, node->shapes[0].dims[2]);
        scores = to_onnx_node2(builder, "Add", scores, mask, NULL);
    }
    return to_onnx_node2(builder, "MatMul", softmax(builder, scores), in[2], NULL);
}

const struct to_onnx_operator to_onnx_elementwise[] = {
    {&op_add, NULL, "Add"},
    {&op_subtract, NULL, "Sub"},
    {&op_multiply, NULL, "Mul"},
    {&op_divide, NULL, "Div"},
    {&op_scale, write_scale, NULL},
    {&op_power, write_power, NULL},
    {&op_sqrt, NULL, "Sqrt"},
    {&op_exp, NULL, "Exp"},
    {&op_log, NULL, "Log"},
    {&op_erf, NULL, "Erf"},
    {&op_clip, write_clip, NULL},
    {&op_copy, NULL, "Identity"},
    {&op_stop_gradient, NULL, "Identity"},
    {&op_relu, NULL, "Relu"},
    {&op_leaky_relu, write_leaky_relu, NULL},
    {&op_sigmoid, NULL, "Sigmoid"},
    {&op_tanh, NULL, "Tanh"},
    {&op_gelu, write_gelu, NULL},
    {&op_silu, write_silu, NULL},
    {&op_softmax, write_softmax, NULL},
    {&op_layer_norm, write_layer_norm, NULL},
    {&op_attention, write_attention, NULL},
    {NULL, NULL, NULL},
};
