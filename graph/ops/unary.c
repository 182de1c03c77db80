/* graph/ops/unary.c: functions of one value, element by element. */
#include <math.h>

#include "graph/ops/ops.h"

static tn_tensor add_with(struct tn_graph *graph, const struct op_type *op, tn_tensor x,
                          float first, float second)
{
    if (!isfinite(first) || !isfinite(second)) {
        return graph_fail(graph, TN_EINVAL, "%s: the constants are %g and %g: give finite numbers",
                          op->name, (double)first, (double)second);
    }
    struct attributes attributes = {.numbers = {(double)first, (double)second}};
    return graph_add(graph, op, &x, 1, &attributes);
}

static double number_of(const struct tn_graph *graph, tn_tensor self)
{
    return node_of(graph, self)->attributes.numbers[0];
}

static void gradient_of_scale(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                              tn_tensor *dx)
{
    dx[0] = tn_scale(graph, dy[0], (float)number_of(graph, self));
}

/* d x^e = e x^(e-1) dx */
static void gradient_of_power(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                              tn_tensor *dx)
{
    float exponent = (float)number_of(graph, self);
    tn_tensor power = tn_power(graph, input_of(graph, self, 0), exponent - 1);
    dx[0] = tn_multiply(graph, dy[0], tn_scale(graph, power, exponent));
}

/* d sqrt(x) = dx / (2 sqrt(x)) */
static void gradient_of_sqrt(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                             tn_tensor *dx)
{
    dx[0] = tn_scale(graph, tn_divide(graph, dy[0], self), 0.5F);
}

static void gradient_of_exp(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                            tn_tensor *dx)
{
    dx[0] = tn_multiply(graph, dy[0], self);
}

static void gradient_of_log(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                            tn_tensor *dx)
{
    dx[0] = tn_divide(graph, dy[0], input_of(graph, self, 0));
}

/* d erf(x) = 2 / sqrt(pi) exp(-x^2) dx */
static void gradient_of_erf(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                            tn_tensor *dx)
{
    static const float factor = 0x1.20dd76p0F;
    tn_tensor x = input_of(graph, self, 0);
    tn_tensor density = tn_exp(graph, tn_scale(graph, tn_multiply(graph, x, x), -1));
    dx[0] = tn_multiply(graph, dy[0], tn_scale(graph, density, factor));
}

static void gradient_of_clip(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                             tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    tn_tensor inputs[] = {input_of(graph, self, 0), dy[0]};
    dx[0] = graph_add(graph, &op_clip_gradient, inputs, 2, &attributes);
}

static void gradient_of_copy(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                             tn_tensor *dx)
{
    (void)graph, (void)self;
    dx[0] = dy[0];
}

#define UNARY(operation)                                                                           \
    const struct op_type op_##operation = {                                                        \
        .name = #operation,                                                                        \
        .version = 1,                                                                              \
        .traits = {.inplace = 1},                                                                  \
        .inputs_min = 1,                                                                           \
        .inputs_max = 1,                                                                           \
        .outputs = 1,                                                                              \
        .infer = infer_like_input,                                                                 \
        .build_gradient = gradient_of_##operation,                                                 \
    };

UNARY(scale)
UNARY(power)
UNARY(sqrt)
UNARY(exp)
UNARY(log)
UNARY(erf)
UNARY(clip)
UNARY(copy)

const struct op_type op_clip_gradient = {
    .name = "clip_gradient",
    .version = 1,
    .traits = {.inplace = 2},
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_like_input,
};

tn_tensor tn_scale(struct tn_graph *graph, tn_tensor a, float factor)
{
    return add_with(graph, &op_scale, a, factor, 0);
}

tn_tensor tn_power(struct tn_graph *graph, tn_tensor a, float exponent)
{
    return add_with(graph, &op_power, a, exponent, 0);
}

tn_tensor tn_sqrt(struct tn_graph *graph, tn_tensor a)
{
    return graph_add1(graph, &op_sqrt, a);
}

tn_tensor tn_exp(struct tn_graph *graph, tn_tensor a)
{
    return graph_add1(graph, &op_exp, a);
}

tn_tensor tn_log(struct tn_graph *graph, tn_tensor a)
{
    return graph_add1(graph, &op_log, a);
}

tn_tensor tn_erf(struct tn_graph *graph, tn_tensor a)
{
    return graph_add1(graph, &op_erf, a);
}

tn_tensor tn_clip(struct tn_graph *graph, tn_tensor a, float lowest, float highest)
{
    if (lowest > highest) {
        return graph_fail(graph, TN_EINVAL, "clip: lowest is %g and highest %g: swap them",
                          (double)lowest, (double)highest);
    }
    return add_with(graph, &op_clip, a, lowest, highest);
}
