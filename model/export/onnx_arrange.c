/* model/export/onnx_arrange.c: products, sums, shapes, and rows by ids. */
#include "graph/core/shape.h"
#include "graph/ops/ops.h"
#include "model/export/onnx_operators.h"

/* The last two dimensions change places. */
static const char *transposed(struct to_onnx_builder *builder, const char *x, uint32_t rank)
{
    int64_t order[TN_RANK_MAX];
    assert(rank >= 2 && rank <= TN_RANK_MAX);
    for (uint32_t d = 0; d < rank; d++) { order[d] = d; }
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    const char *y = to_onnx_node1(builder, "Transpose", x, NULL);
    to_onnx_attribute_ints(builder, "perm", order, rank);
    return y;
}

static const char *write_matmul(struct to_onnx_builder *builder, const struct node *node,
                                const char *const *in)
{
    const int64_t *integers = node->attributes.integers;
    const char *sides[] = {in[0], in[1]};
    if (integers[2] != 0) { return NULL; } /* Gradients only. */
    for (uint32_t i = 0; i < 2; i++) {
        if (integers[i] == 0) { continue; }
        sides[i] = transposed(builder, in[i], input_shape(builder->graph, node, i)->rank);
    }
    return to_onnx_node2(builder, "MatMul", sides[0], sides[1], NULL);
}

static const char *write_sum(struct to_onnx_builder *builder, const struct node *node,
                             const char *const *in)
{
    const uint64_t set = (uint64_t)node->attributes.integers[0];
    int64_t axes[TN_RANK_MAX];
    size_t count = 0;
    for (int64_t d = 0; d < TN_RANK_MAX; d++) {
        if ((set >> d & 1) != 0) { axes[count++] = d; }
    }
    const char *list = to_onnx_integers(builder, axes, count);
    const char *y = to_onnx_node2(builder, "ReduceSum", in[0], list, NULL);
    to_onnx_attribute_int(builder, "keepdims", 0);
    return y;
}

/* A dimension of 1 leaves that of x as it is. */
static const char *write_broadcast(struct to_onnx_builder *builder, const struct node *node,
                                   const char *const *in)
{
    struct tn_shape shape = node->shapes[0];
    if (shape_has_batch(&shape)) {
        const struct tn_shape *x = input_shape(builder->graph, node, 0);
        if (!shape_has_batch(x) || x->rank != shape.rank) { return NULL; }
        shape.dims[0] = 1;
    }
    const char *list = to_onnx_integers(builder, shape.dims, shape.rank);
    return to_onnx_node2(builder, "Expand", in[0], list, NULL);
}

/* TN_BATCH is -1, which ONNX infers as well. */
static const char *write_reshape(struct to_onnx_builder *builder, const struct node *node,
                                 const char *const *in)
{
    const struct tn_shape *shape = &node->shapes[0];
    return to_onnx_node2(builder, "Reshape", in[0],
                         to_onnx_integers(builder, shape->dims, shape->rank), NULL);
}

static const char *write_permute(struct to_onnx_builder *builder, const struct node *node,
                                 const char *const *in)
{
    const char *y = to_onnx_node1(builder, "Transpose", in[0], NULL);
    to_onnx_attribute_ints(builder, "perm", node->attributes.integers, node->shapes[0].rank);
    return y;
}

static const char *write_concat(struct to_onnx_builder *builder, const struct node *node,
                                const char *const *in)
{
    const char *y = to_onnx_node(builder, "Concat", in, node->input_count, NULL);
    to_onnx_attribute_int(builder, "axis", node->attributes.integers[0]);
    return y;
}

static const char *write_slice(struct to_onnx_builder *builder, const struct node *node,
                               const char *const *in)
{
    const int64_t *integers = node->attributes.integers, end = integers[1] + integers[2];
    const char *inputs[] = {
        in[0],
        to_onnx_integers(builder, &integers[1], 1),
        to_onnx_integers(builder, &end, 1),
        to_onnx_integers(builder, &integers[0], 1),
    };
    return to_onnx_node(builder, "Slice", inputs, 4, NULL);
}

/* Numbers of elements before each dimension, then behind each. */
static const char *write_pad(struct to_onnx_builder *builder, const struct node *node,
                             const char *const *in)
{
    const int64_t *integers = node->attributes.integers;
    int64_t pads[2 * TN_RANK_MAX] = {0};
    const uint32_t rank = node->shapes[0].rank;
    pads[integers[0]] = integers[1];
    pads[rank + integers[0]] = integers[2];
    const char *inputs[] = {
        in[0],
        to_onnx_integers(builder, pads, (size_t)2 * rank),
        to_onnx_number(builder, node->attributes.numbers[0]),
    };
    return to_onnx_node(builder, "Pad", inputs, 3, NULL);
}

static const char *as_type(struct to_onnx_builder *builder, const char *x, enum tn_type type)
{
    const char *y = to_onnx_node1(builder, "Cast", x, NULL);
    to_onnx_attribute_int(builder, "to", to_onnx_type_of(type));
    return y;
}

static const char *write_cast(struct to_onnx_builder *builder, const struct node *node,
                              const char *const *in)
{
    const char *y = as_type(builder, in[0], node->types[0]);
    const double factor = node->attributes.numbers[0];
    if (node->types[0] != TN_FLOAT32 || factor == 1) { return y; }
    return to_onnx_node2(builder, "Mul", y, to_onnx_number(builder, factor), NULL);
}

static const char *write_gather(struct to_onnx_builder *builder, const struct node *node,
                                const char *const *in)
{
    (void)node;
    return to_onnx_node2(builder, "Gather", in[0], as_type(builder, in[1], TN_INT64), NULL);
}

static const char *write_one_hot(struct to_onnx_builder *builder, const struct node *node,
                                 const char *const *in)
{
    static const float values[] = {0, 1};
    const struct tn_shape two = {.rank = 1, .dims = {2}};
    const char *inputs[] = {
        as_type(builder, in[0], TN_INT64),
        to_onnx_integers(builder, &node->attributes.integers[0], 1),
        to_onnx_initializer(builder, NULL, TN_FLOAT32, &two, values, sizeof values),
    };
    return to_onnx_node(builder, "OneHot", inputs, 3, NULL);
}

const struct to_onnx_operator to_onnx_arrange[] = {
    {&op_matmul, write_matmul, NULL},       {&op_sum, write_sum, NULL},
    {&op_broadcast, write_broadcast, NULL}, {&op_reshape, write_reshape, NULL},
    {&op_permute, write_permute, NULL},     {&op_concat, write_concat, NULL},
    {&op_slice, write_slice, NULL},         {&op_pad, write_pad, NULL},
    {&op_cast, write_cast, NULL},           {&op_gather, write_gather, NULL},
    {&op_one_hot, write_one_hot, NULL},     {NULL, NULL, NULL},
};
