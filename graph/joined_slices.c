#include "graph/joined_slices.h"

#include <stdlib.h>

#include "graph/ops/ops.h"
#include "graph/roots.h"

/* The examples on which a value depends. */
enum extent {
    OF_NONE,    /* It depends on no example. */
    OF_EACH,    /* Its first dimension is the batch, and each row depends on its example alone. */
    SUM_OF_ALL, /* The sum over the examples, slice by slice. */
    OF_OTHERS,  /* Anything else. */
};

struct extents {
    const struct tn_program *program;
    enum extent *items; /* By value. */
};

static enum extent extent_of(const struct extents *extents, const struct node *node, uint32_t input)
{
    return extents->items[node->inputs[input].v - 1];
}

static bool is_batch(const struct extents *extents, const struct tn_shape *shape)
{
    return shape->rank >= 1 && shape->dims[0] == (int64_t)extents->program->options.examples;
}

static bool reads(const struct extents *extents, const struct node *node, enum extent extent)
{
    bool all = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        all = all && extent_of(extents, node, i) == extent;
    }
    return all;
}

/* Elementwise, with broadcasting: rows meet only rows of the same example. */
static enum extent elementwise(const struct extents *extents, const struct node *node)
{
    const struct tn_shape *out = &node->shapes[0];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tn_shape *shape = input_shape(extents->program->graph, node, i);
        const enum extent extent = extent_of(extents, node, i);
        const bool repeated = shape->rank < out->rank || shape->dims[0] == 1;
        const bool aligned = shape->rank == out->rank && is_batch(extents, shape);
        if (extent == OF_NONE ? !repeated : extent != OF_EACH || !aligned) { return OF_OTHERS; }
    }
    return is_batch(extents, out) ? OF_EACH : OF_OTHERS;
}

/* Each row of the last dimension, or each example, is computed alone. */
static enum extent rowwise(const struct extents *extents, const struct node *node)
{
    const bool has_rows = input_shape(extents->program->graph, node, 0)->rank >= 2;
    if (!has_rows || !reads(extents, node, OF_EACH)) { return OF_OTHERS; }
    return is_batch(extents, &node->shapes[0]) ? OF_EACH : OF_OTHERS;
}

/* Rows times a matrix of weights, or the product of rows that is summed over the examples. */
static enum extent product(const struct extents *extents, const struct node *node)
{
    const struct tn_graph *graph = extents->program->graph;
    const int64_t *integers = node->attributes.integers;
    const struct tn_shape *a = input_shape(graph, node, 0), *b = input_shape(graph, node, 1);
    if (extent_of(extents, node, 0) != OF_EACH) { return OF_OTHERS; }
    if (integers[0] == 0 && integers[2] == 0) {
        for (uint32_t i = 1; i < node->input_count; i++) {
            if (extent_of(extents, node, i) != OF_NONE) { return OF_OTHERS; }
        }
        return b->rank == 2 ? OF_EACH : OF_OTHERS;
    }
    const bool sums = node->input_count == 2 && integers[0] != 0 && integers[1] == 0 &&
                      (integers[2] != 0 || a->rank == 2);
    if (!sums || extent_of(extents, node, 1) != OF_EACH) { return OF_OTHERS; }
    return is_batch(extents, a) && is_batch(extents, b) ? SUM_OF_ALL : OF_OTHERS;
}

/* Over the examples, and dimensions behind them without a gap. */
static enum extent sum(const struct extents *extents, const struct node *node)
{
    const struct tn_shape *x = input_shape(extents->program->graph, node, 0);
    const uint64_t axes = (uint64_t)node->attributes.integers[0];
    if (extent_of(extents, node, 0) != OF_EACH || !is_batch(extents, x)) { return OF_OTHERS; }
    if ((axes & 1) == 0) { return OF_EACH; }
    const uint64_t behind = axes + 1; /* One bit, if the axes are the first ones. */
    const bool leaves_some = axes >> (x->rank - 1) == 0;
    return (behind & axes) == 0 && leaves_some ? SUM_OF_ALL : OF_OTHERS;
}

static enum extent copy(const struct extents *extents, const struct node *node)
{
    return extent_of(extents, node, 0);
}

static enum extent dropout(const struct extents *extents, const struct node *node)
{
    return node->attributes.integers[1] != 0 ? elementwise(extents, node) : OF_OTHERS;
}

struct rule {
    const struct op_type *op;
    enum extent (*extent)(const struct extents *extents, const struct node *node);
};

static const struct rule rules[] = {
    {&op_matmul, product},
    {&op_matmul_add, product},
    {&op_matmul_add_relu, product},
    {&op_sum, sum},
    {&op_copy, copy},
    {&op_dropout, dropout},
    {&op_loss_seed, elementwise},
    {&op_add, elementwise},
    {&op_subtract, elementwise},
    {&op_multiply, elementwise},
    {&op_divide, elementwise},
    {&op_scale, elementwise},
    {&op_relu, elementwise},
    {&op_relu_gradient, elementwise},
    {&op_leaky_relu, elementwise},
    {&op_leaky_relu_gradient, elementwise},
    {&op_sigmoid, elementwise},
    {&op_sigmoid_gradient, elementwise},
    {&op_tanh, elementwise},
    {&op_tanh_gradient, elementwise},
    {&op_gelu, elementwise},
    {&op_gelu_gradient, elementwise},
    {&op_silu, elementwise},
    {&op_silu_gradient, elementwise},
    {&op_softmax_cross_entropy, rowwise},
    {&op_softmax_cross_entropy_gradient, rowwise},
    {&op_squared_error, rowwise},
    {&op_squared_error_gradient, rowwise},
};

static enum extent find_extent(const struct extents *extents, const struct node *node)
{
    if (node->op == &op_placeholder) { return OF_EACH; }
    if (node->op == &op_variable || node->op == &op_constant) { return OF_NONE; }
    if (node->op->traits.view) {
        const enum extent extent = extent_of(extents, node, 0);
        const bool moves = extent == OF_EACH && !is_batch(extents, &node->shapes[0]);
        return moves ? OF_OTHERS : extent;
    }
    if (!node->op->traits.varies && reads(extents, node, OF_NONE)) { return OF_NONE; }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].op == node->op) { return rules[i].extent(extents, node); }
    }
    return OF_OTHERS;
}

static enum tn_status refuse(const struct node *node, struct error *error)
{
    return error_set(error, TN_EINVAL,
                     "scope '%s': slices with the operation %s are computed one by one",
                     node->scope, node->op->name);
}

/* The extents of all values in the order of their computation. */
static enum tn_status find_extents(const struct extents *extents, struct error *error)
{
    const struct tn_program *program = extents->program;
    for (uint32_t t = 0; t < program->order_count; t++) {
        const struct node *node = &program->graph->nodes[program->order[t]];
        const enum extent extent = find_extent(extents, node);
        if (extent == OF_OTHERS) { return refuse(node, error); }
        for (uint32_t o = 0; o < node->op->outputs; o++) {
            extents->items[tensor_of(program->order[t], o).v - 1] = extent;
        }
    }
    return TN_OK;
}

/* Losses are of one example each; gradients are sums, or there are none. */
static enum tn_status check_roots(const struct extents *extents, struct error *error)
{
    const struct tn_program *program = extents->program;
    for (uint32_t i = 0; i < program->graph->mark_count; i++) {
        const struct mark *mark = &program->graph->marks[i];
        if (mark->kind == MARK_LOSS && extents->items[mark->value.v - 1] != OF_EACH) {
            return refuse(node_of(program->graph, mark->value), error);
        }
    }
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const tn_tensor gradient = program->variables[i].gradient;
        if (gradient.v != 0 && extents->items[gradient.v - 1] != SUM_OF_ALL) {
            return refuse(node_of(program->graph, gradient), error);
        }
    }
    return TN_OK;
}

static enum tn_status check(const struct extents *extents, struct error *error)
{
    const struct tn_program *program = extents->program;
    if (!program->backend->joins || program->lookup_count > 0) {
        return error_set(error, TN_EINVAL, "slices are computed one by one%s",
                         program->lookup_count > 0 ? ": the model has a table" : "");
    }
    enum tn_status status = find_extents(extents, error);
    return status == TN_OK ? check_roots(extents, error) : status;
}

enum tn_status joined_slices_prepare(struct tn_program *program, struct error *error)
{
    const size_t values = (size_t)program->graph->count * OP_OUTPUTS_MAX;
    assert(program->slices >= 1 && program->options.examples % program->slices == 0);
    if (program->check_numerics) {
        return error_set(error, TN_EINVAL,
                         "TANIST_CHECK_NUMERICS names the slice: slices are computed one by one");
    }
    struct extents extents = {program, calloc(values + 1, sizeof *extents.items)};
    if (extents.items == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = check(&extents, error);
    for (uint32_t i = 0; i < program->instruction_count && status == TN_OK; i++) {
        struct kernel_call *call = &program->instructions[i].call;
        const size_t node = (size_t)(call->node - program->graph->nodes);
        const bool sums = extents.items[node * OP_OUTPUTS_MAX] == SUM_OF_ALL;
        call->slices = sums ? program->slices : 1;
    }
    free(extents.items);
    return status;
}

enum tn_status joined_slices_create(const struct tn_graph *graph,
                                    const struct tn_program_options *options, uint32_t slices,
                                    struct tn_program **out, struct tn_error *error)
{
    struct error text = {.status = TN_OK};
    const struct backend *backend = NULL;
    assert(options->mode == TN_TRAIN && slices >= 1 && options->examples % slices == 0);
    *out = NULL;
    enum tn_status status = program_find_backend(options->kernels, &backend, &text);
    if (status == TN_OK) {
        status = program_create_joined(graph, options, slices, backend, out, &text);
    }
    return status == TN_OK ? TN_OK : error_export(&text, error);
}
