#include "graph/encoding_rules.h"

#include <math.h>

#include "graph/ops/ops.h"
#include "graph/ops/window.h"

enum { WINDOW_SIDE_MAX = 1 << 20 };

/* The attributes of an operation that are not zero by definition. */
struct rule {
    const struct op_type *op;
    uint32_t integers, numbers; /* The number of each that may differ from 0; numbers are finite. */
    bool shape, type;
    const char *(*check)(const struct tn_graph *graph, const struct node *node);
};

static const char *check_matmul(const struct tn_graph *graph, const struct node *node)
{
    (void)graph;
    const int64_t *flags = node->attributes.integers;
    const bool valid = flags[0] >= 0 && flags[0] <= 1 && flags[1] >= 0 && flags[1] <= 1;
    return valid ? NULL : "the flags of its transposed operands are not 0 or 1";
}

static const char *check_sum(const struct tn_graph *graph, const struct node *node)
{
    const struct tn_shape *x = input_shape(graph, node, 0);
    const int64_t axes = node->attributes.integers[0];
    const bool valid = axes > 0 && axes < INT64_C(1) << x->rank;
    return valid && !(shape_has_batch(x) && (axes & 1) != 0) ? NULL : "its axes are not valid";
}

static const char *check_softmax(const struct tn_graph *graph, const struct node *node)
{
    const struct tn_shape *x = input_shape(graph, node, 0);
    return x->rank >= 1 && shape_last(x) != TN_BATCH ? NULL : "its input has no last dimension";
}

static const char *check_window(const struct tn_graph *graph, const struct node *node)
{
    const int64_t *integers = node->attributes.integers;
    if (input_shape(graph, node, 0)->rank != 4) { return "its input is not images"; }
    for (uint32_t i = WINDOW_HEIGHT; i <= WINDOW_STRIDE_X; i++) {
        if (integers[i] < 1 || integers[i] > WINDOW_SIDE_MAX) { return "its window is not valid"; }
    }
    for (uint32_t i = WINDOW_TOP; i <= WINDOW_RIGHT; i++) {
        const bool is_vertical = i == WINDOW_TOP || i == WINDOW_BOTTOM;
        const int64_t side = integers[is_vertical ? WINDOW_HEIGHT : WINDOW_WIDTH];
        if (integers[i] < 0 || integers[i] >= side) { return "its padding is not valid"; }
    }
    return NULL;
}

static const char *check_conv2d(const struct tn_graph *graph, const struct node *node)
{
    const int64_t *integers = node->attributes.integers;
    const struct tn_shape *weights = input_shape(graph, node, 1);
    const char *fault = check_window(graph, node);
    if (fault != NULL) { return fault; }
    const bool fits = weights->rank == 4 && weights->dims[0] == integers[WINDOW_HEIGHT] &&
                      weights->dims[1] == integers[WINDOW_WIDTH] && weights->dims[2] >= 1;
    const int64_t groups = integers[WINDOW_GROUPS];
    return fits && groups >= 1 && groups <= UINT32_MAX ? NULL : "its weights do not fit its window";
}

static const char *check_positive(const struct tn_graph *graph, const struct node *node)
{
    (void)graph;
    return node->attributes.numbers[0] > 0 ? NULL : "its constant is not above 0";
}

static const char *check_smoothing(const struct tn_graph *graph, const struct node *node)
{
    (void)graph;
    const double smoothing = node->attributes.numbers[0];
    return smoothing >= 0 && smoothing < 1 ? NULL : "its smoothing is not in [0, 1)";
}

static const char *check_attention(const struct tn_graph *graph, const struct node *node)
{
    (void)graph;
    const bool is_flag = node->attributes.integers[0] == 0 || node->attributes.integers[0] == 1;
    return is_flag && node->attributes.numbers[0] >= 0 ? NULL : "its constants are not valid";
}

static const char *check_leaf(const struct tn_graph *graph, const struct node *node)
{
    (void)graph;
    const struct attributes *attributes = &node->attributes;
    const bool is_constant = node->op == &op_constant;
    if (attributes->type < TN_FLOAT32 || attributes->type > TN_UINT8) { return "unknown type"; }
    if (!is_constant && (attributes->name == NULL || attributes->name[0] == '\0')) {
        return "it has no name";
    }
    const bool is_variable = node->op == &op_variable;
    if (is_variable && attributes->type != TN_FLOAT32) { return "variables are of float32"; }
    if ((is_variable || is_constant) && shape_has_batch(&attributes->shape)) {
        return "it has the batch";
    }
    return NULL;
}

/* Attributes that infer() checks need no check here: those of permute, concat, slice, pad,
 * one_hot, cast, reshape and broadcast. */
static const struct rule rules[] = {
    {.op = &op_placeholder, .shape = true, .type = true, .check = check_leaf},
    {.op = &op_variable, .shape = true, .type = true, .check = check_leaf},
    {.op = &op_constant, .shape = true, .type = true, .check = check_leaf},
    {.op = &op_add},
    {.op = &op_subtract},
    {.op = &op_multiply},
    {.op = &op_divide},
    {.op = &op_scale, .numbers = 1},
    {.op = &op_power, .numbers = 1},
    {.op = &op_sqrt},
    {.op = &op_exp},
    {.op = &op_log},
    {.op = &op_erf},
    {.op = &op_clip, .numbers = 2},
    {.op = &op_matmul, .integers = 2, .check = check_matmul},
    {.op = &op_sum, .integers = 1, .check = check_sum},
    {.op = &op_broadcast, .shape = true},
    {.op = &op_reshape, .shape = true},
    {.op = &op_stop_gradient},
    {.op = &op_permute, .integers = TN_RANK_MAX},
    {.op = &op_concat, .integers = 1},
    {.op = &op_slice, .integers = 3},
    {.op = &op_pad, .integers = 3, .numbers = 1},
    {.op = &op_relu},
    {.op = &op_leaky_relu, .numbers = 1},
    {.op = &op_sigmoid},
    {.op = &op_tanh},
    {.op = &op_gelu},
    {.op = &op_silu},
    {.op = &op_softmax, .check = check_softmax},
    {.op = &op_gather},
    {.op = &op_one_hot, .integers = 1},
    {.op = &op_cast, .numbers = 1, .type = true},
    {.op = &op_softmax_cross_entropy, .numbers = 1, .check = check_smoothing},
    {.op = &op_is_correct},
    {.op = &op_squared_error},
    {.op = &op_absolute_error},
    {.op = &op_huber_error, .numbers = 1, .check = check_positive},
    {.op = &op_sigmoid_cross_entropy},
    {.op = &op_slice_softmax_cross_entropy},
    {.op = &op_is_retrieved},
    {.op = &op_conv2d, .integers = WINDOW_GROUPS + 1, .check = check_conv2d},
    {.op = &op_max_pool, .integers = WINDOW_RIGHT + 1, .check = check_window},
    {.op = &op_mean_pool, .integers = WINDOW_RIGHT + 1, .check = check_window},
    {.op = &op_layer_norm, .numbers = 1, .check = check_positive},
    {.op = &op_attention, .integers = 1, .numbers = 1, .check = check_attention},
};

static const char *check_constants(const struct rule *rule, const struct attributes *attributes)
{
    for (uint32_t i = rule->integers; i < OP_INTEGERS_MAX; i++) {
        if (attributes->integers[i] != 0) { return "it has an integer that it does not use"; }
    }
    for (uint32_t i = 0; i < OP_NUMBERS_MAX; i++) {
        if (!isfinite(attributes->numbers[i])) { return "it has a number that is not finite"; }
        if (i >= rule->numbers && attributes->numbers[i] != 0) {
            return "it has a number that it does not use";
        }
    }
    if (!shape_is_valid(&attributes->shape)) { return "its shape is not valid"; }
    if (!rule->shape && attributes->shape.rank != 0) { return "it has a shape of its own"; }
    if (!rule->type && attributes->type != 0) { return "it has a type of its own"; }
    return NULL;
}

const char *encoding_fault(const struct tn_graph *graph, const struct node *node)
{
    assert(graph != NULL && node != NULL && node->op != NULL);
    const struct attributes *attributes = &node->attributes;
    if (attributes->custom != NULL) { return "it is an operation of the user's code"; }
    const bool is_leaf = node->op->traits.leaf;
    if (!is_leaf && (attributes->name != NULL || attributes->data != NULL)) {
        return "it cannot be computed in another process";
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].op != node->op) { continue; }
        const char *fault = check_constants(&rules[i], attributes);
        if (fault != NULL || rules[i].check == NULL) { return fault; }
        return rules[i].check(graph, node);
    }
    return "it cannot be computed in another process";
}
