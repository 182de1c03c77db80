/* graph/portable/activation.c: activations and their gradients. */
#include "graph/ops/ops.h"
#include "graph/portable/table.h"

/* Input 0 of the gradient is the activation's output or input, as the kernel reads it. */
#define ACTIVATION(name, which)                                                                    \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        kernels_of(call)->elementwise->unary[which](elements_of(&call->out[0]),                    \
                                                    float_input(call, 0), float_output(call, 0));  \
    }                                                                                              \
    static void name##_gradient(const struct kernel_call *call)                                    \
    {                                                                                              \
        kernels_of(call)->elementwise->gradient[which](elements_of(&call->out[0]),                 \
                                                       float_input(call, 0), float_input(call, 1), \
                                                       float_output(call, 0));                     \
    }

ACTIVATION(relu, ELEMENTWISE_RELU)
ACTIVATION(sigmoid, ELEMENTWISE_SIGMOID)
ACTIVATION(tangent, ELEMENTWISE_TANH)
ACTIVATION(gelu, ELEMENTWISE_GELU_TANH)
ACTIVATION(silu, ELEMENTWISE_SILU)

static void leaky_relu(const struct kernel_call *call)
{
    kernels_of(call)->elementwise->leaky_relu(elements_of(&call->out[0]),
                                              (float)call->node->attributes.numbers[0],
                                              float_input(call, 0), float_output(call, 0));
}

/* The output has the sign of the input, as slopes are above zero. */
static void leaky_relu_gradient(const struct kernel_call *call)
{
    kernels_of(call)->elementwise->leaky_relu_gradient(
        elements_of(&call->out[0]), (float)call->node->attributes.numbers[0], float_input(call, 0),
        float_input(call, 1), float_output(call, 0));
}

const struct portable_row portable_activation[] = {
    {&op_relu, relu, NULL, NULL},
    {&op_relu_gradient, relu_gradient, NULL, NULL},
    {&op_leaky_relu, leaky_relu, NULL, NULL},
    {&op_leaky_relu_gradient, leaky_relu_gradient, NULL, NULL},
    {&op_sigmoid, sigmoid, NULL, NULL},
    {&op_sigmoid_gradient, sigmoid_gradient, NULL, NULL},
    {&op_tanh, tangent, NULL, NULL},
    {&op_tanh_gradient, tangent_gradient, NULL, NULL},
    {&op_gelu, gelu, NULL, NULL},
    {&op_gelu_gradient, gelu_gradient, NULL, NULL},
    {&op_silu, silu, NULL, NULL},
    {&op_silu_gradient, silu_gradient, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
