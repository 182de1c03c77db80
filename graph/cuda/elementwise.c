/* graph/cuda/elementwise.c: functions of one or two floats, and dropout. */
#include "common/base/random.h"
#include "graph/cuda/table.h"

#define UNARY(name, which)                                                                         \
    OPERATION(run_##name)                                                                          \
    {                                                                                              \
        kernels_of(call)->unary[ELEMENTWISE_##which](elements_of(&call->out[0]), IN(0), OUT(0));   \
    }
#define GRADIENT(name, which)                                                                      \
    OPERATION(run_##name##_gradient)                                                               \
    {                                                                                              \
        kernels_of(call)->gradient[ELEMENTWISE_##which](elements_of(&call->out[0]), IN(0), IN(1),  \
                                                        OUT(0));                                   \
    }
#define UNARIES(X)                                                                                 \
    X(sqrt, SQRT)                                                                                  \
    X(exp, EXP)                                                                                    \
    X(log, LOG)                                                                                    \
    X(erf, ERF)
#define ACTIVATIONS(X)                                                                             \
    X(relu, RELU)                                                                                  \
    X(sigmoid, SIGMOID)                                                                            \
    X(tanh, TANH)                                                                                  \
    X(gelu, GELU_TANH)                                                                             \
    X(silu, SILU)
UNARIES(UNARY)
ACTIVATIONS(UNARY)
ACTIVATIONS(GRADIENT)

OPERATION(run_leaky_relu)
{
    kernels_of(call)->leaky_relu(elements_of(&call->out[0]), NUMBER, IN(0), IN(0), OUT(0));
}

OPERATION(run_leaky_relu_gradient)
{
    kernels_of(call)->leaky_relu(elements_of(&call->out[0]), NUMBER, IN(0), IN(1), OUT(0));
}

OPERATION(run_scale)
{
    kernels_of(call)->scale(elements_of(&call->out[0]), NUMBER, IN(0), OUT(0));
}

OPERATION(run_clip)
{
    kernels_of(call)->clip(elements_of(&call->out[0]), NUMBER,
                           (float)call->node->attributes.numbers[1], IN(0), OUT(0));
}

OPERATION(run_clip_gradient)
{
    kernels_of(call)->clip_gradient(elements_of(&call->out[0]), NUMBER,
                                    (float)call->node->attributes.numbers[1], IN(0), IN(1), OUT(0));
}

OPERATION(run_power)
{
    kernels_of(call)->power(elements_of(&call->out[0]), NUMBER, IN(0), OUT(0));
}

#define BINARY(name, which)                                                                        \
    OPERATION(run_##name)                                                                          \
    {                                                                                              \
        const struct tn_shape *y = &call->out[0].shape;                                            \
        const struct cuda_shape shape = shape_for(y);                                              \
        const struct cuda_strides left = strides_for(y, &call->in[0].shape);                       \
        const struct cuda_strides right = strides_for(y, &call->in[1].shape);                      \
        kernels_of(call)->binary[ELEMENTWISE_##which](&shape, IN(0), &left, IN(1), &right,         \
                                                      OUT(0));                                     \
    }
#define BINARIES(X)                                                                                \
    X(add, ADD)                                                                                    \
    X(subtract, SUBTRACT)                                                                          \
    X(multiply, MULTIPLY)                                                                          \
    X(divide, DIVIDE)
BINARIES(BINARY)

OPERATION(run_loss_seed)
{
    kernels_of(call)->fill(elements_of(&call->out[0]), NUMBER * call->scale, OUT(0));
}

OPERATION(run_slice_moment)
{
    const float share = (float)call->examples * call->scale;
    kernels_of(call)->scale(elements_of(&call->out[0]), share, IN(0), OUT(0));
}

OPERATION(run_dropout)
{
    const bool has_batch = INTEGERS[1] != 0;
    const size_t examples = has_batch ? (size_t)call->out[0].shape.dims[0] : 1;
    const struct cuda_dropout task = {
        .key = random_at(call->seed, (uint64_t)INTEGERS[0], 0),
        .step = call->step,
        .example = has_batch ? (uint32_t)call->first_example : 0,
        .examples = examples,
        .count = elements_of(&call->out[0]) / examples,
        .rate = NUMBER,
    };
    kernels_of(call)->dropout(&task, IN(0), OUT(0));
}

const struct cuda_row cuda_elementwise[] = {
#define ROW(name, which)          {&op_##name, run_##name, NULL},
#define GRADIENT_ROW(name, which) {&op_##name##_gradient, run_##name##_gradient, NULL},
    UNARIES(ROW) BINARIES(ROW) ACTIVATIONS(ROW) ACTIVATIONS(GRADIENT_ROW)
#undef ROW
#undef GRADIENT_ROW
        {&op_leaky_relu, run_leaky_relu, NULL},
    {&op_leaky_relu_gradient, run_leaky_relu_gradient, NULL},
    {&op_scale, run_scale, NULL},
    {&op_clip, run_clip, NULL},
    {&op_clip_gradient, run_clip_gradient, NULL},
    {&op_power, run_power, NULL},
    {&op_loss_seed, run_loss_seed, NULL},
    {&op_slice_moment, run_slice_moment, NULL},
    {&op_dropout, run_dropout, NULL},
    {NULL, NULL, NULL},
};
