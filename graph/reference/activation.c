/* graph/reference/activation.c: activations and their gradients. */
#include <math.h>

#include "graph/ops/ops.h"
#include "graph/reference/real.h"

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* gelu(x) = x / 2 (1 + tanh(inner(x))) */
static const double GELU_SCALE = 0.7978845608028654, GELU_CUBE = 0.044715; /* sqrt(2 / pi) */

static double gelu_of(double x)
{
    return 0.5 * x * (1 + tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x)));
}

static double gelu_slope(double x)
{
    double t = tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * GELU_SCALE * (1 + 3 * GELU_CUBE * x * x);
}

static double silu_slope(double x)
{
    double s = logistic(x);
    return s * (1 + x * (1 - s));
}

#define FORWARD(name, expression)                                                                  \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        const real *in = real_input(call, 0);                                                      \
        real *out = real_output(call, 0);                                                          \
        real slope = (real)call->node->attributes.numbers[0];                                      \
        (void)slope;                                                                               \
        for (int64_t i = 0; i < output_elements(call); i++) {                                      \
            real x = in[i];                                                                        \
            out[i] = (expression);                                                                 \
        }                                                                                          \
    }

/* `v` is the element of input 0: the activation's output or input. */
#define BACKWARD(name, expression)                                                                 \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        const real *in = real_input(call, 0), *dy = real_input(call, 1);                           \
        real *out = real_output(call, 0);                                                          \
        real slope = (real)call->node->attributes.numbers[0];                                      \
        (void)slope;                                                                               \
        for (int64_t i = 0; i < output_elements(call); i++) {                                      \
            real v = in[i], d = dy[i];                                                             \
            out[i] = (expression);                                                                 \
        }                                                                                          \
    }

/* NaN stays. */
FORWARD(relu, x < 0 ? (real)0 : x)
FORWARD(leaky_relu, x < 0 ? slope * x : x)
FORWARD(sigmoid, (real)logistic((double)x))
FORWARD(tangent, (real)tanh((double)x))
FORWARD(gelu, (real)gelu_of((double)x))
FORWARD(silu, (real)((double)x *logistic((double)x)))
BACKWARD(relu_gradient, v == 0 ? (real)0 : d)
BACKWARD(leaky_relu_gradient, v < 0 ? slope * d : d)
BACKWARD(sigmoid_gradient, d *v * (1 - v))
BACKWARD(tangent_gradient, d * (1 - v * v))
BACKWARD(gelu_gradient, (real)((double)d *gelu_slope((double)v)))
BACKWARD(silu_gradient, (real)((double)d *silu_slope((double)v)))

const struct kernel_row REAL(reference_activation)[] = {
    {&op_relu, relu},
    {&op_leaky_relu, leaky_relu},
    {&op_sigmoid, sigmoid},
    {&op_tanh, tangent},
    {&op_gelu, gelu},
    {&op_silu, silu},
    {&op_relu_gradient, relu_gradient},
    {&op_leaky_relu_gradient, leaky_relu_gradient},
    {&op_sigmoid_gradient, sigmoid_gradient},
    {&op_tanh_gradient, tangent_gradient},
    {&op_gelu_gradient, gelu_gradient},
    {&op_silu_gradient, silu_gradient},
    {NULL, NULL},
};
