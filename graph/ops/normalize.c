/*
 * graph/ops/normalize.c: layer norm (Ba, Kiros, Hinton 2016) over the last dimension, and batch
 * norm (Ioffe, Szegedy 2015) over all but the last. Number 0 is epsilon.
 */
#include <inttypes.h>
#include <math.h>

#include "graph/ops/ops.h"

/* Inputs 1 to `last` are vectors of x's last dimension. */
static enum tn_status check_vectors(const struct tn_graph *graph, const struct node *node,
                                    uint32_t last, struct error *error)
{
    const struct tn_shape *x = input_shape(graph, node, 0);
    for (uint32_t i = 0; i <= last; i++) {
        enum tn_status status = check_float(graph, node, i, error);
        if (status != TN_OK) { return status; }
        const struct tn_shape *shape = input_shape(graph, node, i);
        if (i > 0 && (shape->rank != 1 || shape->dims[0] != shape_last(x))) {
            return error_set(error, TN_EINVAL,
                             "input %u must be a vector of %" PRId64
                             " elements, the last dimension of input 0",
                             i, shape_last(x));
        }
    }
    if (x->rank >= 2) { return TN_OK; }
    return error_set(error, TN_EINVAL, "input 0 must have at least 2 dimensions");
}

/* Outputs: y; mean and 1 / deviation of each row. */
static enum tn_status infer_layer_norm(const struct tn_graph *graph, struct node *node,
                                       struct error *error)
{
    enum tn_status status = check_vectors(graph, node, 2, error);
    if (status != TN_OK) { return status; }
    struct tn_shape rows = *input_shape(graph, node, 0);
    node->shapes[0] = rows;
    rows.dims[--rows.rank] = 0;
    node->shapes[1] = rows;
    node->shapes[2] = rows;
    for (uint32_t o = 0; o < 3; o++) { node->types[o] = TN_FLOAT32; }
    return TN_OK;
}

/* The gradients of x, gain and bias from x, gain, output 1, output 2 and dy. */
static void back_through_norm(struct tn_graph *graph, const struct op_type *op, tn_tensor self,
                              const tn_tensor *dy, tn_tensor *dx)
{
    if (dy[0].v == 0) { return; }
    struct attributes attributes = node_of(graph, self)->attributes;
    uint32_t number = tensor_node(self);
    tn_tensor inputs[] = {input_of(graph, self, 0), input_of(graph, self, 1), tensor_of(number, 1),
                          tensor_of(number, 2), dy[0]};
    tn_tensor gradient = graph_add(graph, op, inputs, 5, &attributes);
    if (gradient.v == 0) { return; }
    for (uint32_t i = 0; i < 3; i++) { dx[i] = tensor_of(tensor_node(gradient), i); }
}

static void gradient_of_layer_norm(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                   tn_tensor *dx)
{
    back_through_norm(graph, &op_layer_norm_gradient, self, dy, dx);
}

static enum tn_status infer_norm_gradient(const struct tn_graph *graph, struct node *node,
                                          struct error *error)
{
    (void)error;
    node->shapes[0] = *input_shape(graph, node, 0);
    node->shapes[1] = *input_shape(graph, node, 1);
    node->shapes[2] = *input_shape(graph, node, 1);
    for (uint32_t o = 0; o < 3; o++) { node->types[o] = TN_FLOAT32; }
    return TN_OK;
}

const struct op_type op_layer_norm = {
    .name = "layer_norm",
    .version = 1,
    .inputs_min = 3,
    .inputs_max = 3,
    .outputs = 3,
    .infer = infer_layer_norm,
    .build_gradient = gradient_of_layer_norm,
};

const struct op_type op_layer_norm_gradient = {
    .name = "layer_norm_gradient",
    .version = 1,
    .inputs_min = 5,
    .inputs_max = 5,
    .outputs = 3,
    .infer = infer_norm_gradient,
};

/* Outputs: y; mean and variance of each channel in this slice. Inputs 3 and 4, the moments for
 * evaluation, are not read here: their gradients are the slice's moments (rule A13). */
static enum tn_status infer_batch_norm(const struct tn_graph *graph, struct node *node,
                                       struct error *error)
{
    enum tn_status status = check_vectors(graph, node, 4, error);
    if (status != TN_OK) { return status; }
    node->shapes[0] = *input_shape(graph, node, 0);
    node->shapes[1] = *input_shape(graph, node, 1);
    node->shapes[2] = *input_shape(graph, node, 1);
    for (uint32_t o = 0; o < 3; o++) { node->types[o] = TN_FLOAT32; }
    return TN_OK;
}

static void gradient_of_batch_norm(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                   tn_tensor *dx)
{
    back_through_norm(graph, &op_batch_norm_gradient, self, dy, dx);
    for (uint32_t i = 0; i < 2; i++) {
        tn_tensor moment = tensor_of(tensor_node(self), 1 + i);
        dx[3 + i] = graph_add1(graph, &op_slice_moment, moment);
    }
}

/* y = (x - mean) gain / sqrt(variance + epsilon) + bias */
static tn_tensor evaluate_batch_norm(struct tn_graph *graph, const struct node *self)
{
    float epsilon = (float)self->attributes.numbers[0];
    tn_tensor variance = tn_add(graph, self->inputs[4], tn_scalar(graph, epsilon));
    tn_tensor factor = tn_multiply(graph, self->inputs[1], tn_power(graph, variance, -0.5F));
    tn_tensor centered = tn_subtract(graph, self->inputs[0], self->inputs[3]);
    return tn_add(graph, tn_multiply(graph, centered, factor), self->inputs[2]);
}

const struct op_type op_batch_norm = {
    .name = "batch_norm",
    .version = 1,
    .inputs_min = 5,
    .inputs_max = 5,
    .outputs = 3,
    .infer = infer_batch_norm,
    .build_gradient = gradient_of_batch_norm,
    .build_evaluation = evaluate_batch_norm,
};

const struct op_type op_batch_norm_gradient = {
    .name = "batch_norm_gradient",
    .version = 1,
    .inputs_min = 5,
    .inputs_max = 5,
    .outputs = 3,
    .infer = infer_norm_gradient,
};

const struct op_type op_slice_moment = {
    .name = "slice_moment",
    .version = 1,
    .traits = {.varies = true},
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_like_input,
};

static bool is_epsilon(struct tn_graph *graph, const char *function, float epsilon)
{
    if (epsilon > 0 && isfinite(epsilon)) { return true; }
    graph_fail(graph, TN_EINVAL, "%s: an epsilon of %g: give one above 0", function,
               (double)epsilon);
    return false;
}

tn_tensor tn_normalize_layer(struct tn_graph *graph, tn_tensor x, tn_tensor gain, tn_tensor bias,
                             float epsilon)
{
    struct attributes attributes = {.numbers = {(double)epsilon}};
    if (!is_epsilon(graph, "layer_norm", epsilon)) { return TN_NONE; }
    return graph_add(graph, &op_layer_norm, (tn_tensor[]){x, gain, bias}, 3, &attributes);
}

tn_tensor tn_normalize_batch(struct tn_graph *graph, const char *name, tn_tensor x, tn_tensor gain,
                             tn_tensor bias, float momentum, float epsilon)
{
    struct attributes attributes = {.numbers = {(double)epsilon}};
    if (!is_epsilon(graph, "batch_norm", epsilon) || graph_failed(graph)) { return TN_NONE; }
    struct tn_variable_options options = {
        .init = TN_INIT_ZEROS,
        .update = TN_UPDATE_AVERAGE,
        .momentum = momentum,
        .no_weight_decay = true,
    };
    struct tn_shape channels = {.rank = 1, .dims = {x.v == 0 ? 1 : shape_last(shape_of(graph, x))}};
    uint32_t variables = graph->variable_count;
    tn_scope_begin(graph, name);
    tn_tensor mean = tn_variable(graph, "mean", channels, &options);
    options.init = TN_INIT_ONES;
    tn_tensor variance = tn_variable(graph, "variance", channels, &options);
    tn_scope_end(graph);
    if (!graph_failed(graph) && graph->variable_count != variables + 2) {
        return graph_fail(graph, TN_EEXIST,
                          "batch_norm '%s' exists: its moments cannot be shared, give each its "
                          "own name",
                          name);
    }
    tn_tensor inputs[] = {x, gain, bias, mean, variance};
    return graph_add(graph, &op_batch_norm, inputs, 5, &attributes);
}
