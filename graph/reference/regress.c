/* graph/reference/regress.c: losses element by element. */
#include <math.h>

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* The loss of one element, and its slope in the output; `width` is the operation's number. */
static double squared(double difference, double width)
{
    (void)width;
    return difference * difference;
}

static double absolute(double difference, double width)
{
    (void)width;
    return fabs(difference);
}

static double huber(double difference, double width)
{
    double size = fabs(difference);
    return size <= width ? 0.5 * difference * difference : width * (size - 0.5 * width);
}

static double sign(double x)
{
    return (double)(x > 0) - (double)(x < 0);
}

static double huber_slope(double difference, double width)
{
    return fabs(difference) <= width ? difference : width * sign(difference);
}

/* Stable for logits of any size. */
static double sigmoid_loss(double x, double target)
{
    return double_max(x, 0) - x * target + log1p(exp(-fabs(x)));
}

static double sigmoid_slope(double x, double target)
{
    return 1 / (1 + exp(-x)) - target;
}

#define LOSS(name, expression)                                                                     \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        const real *output = real_input(call, 0), *target = real_input(call, 1);                   \
        real *out = real_output(call, 0);                                                          \
        double width = call->node->attributes.numbers[0];                                          \
        int64_t elements = shape_elements(&call->in[0].shape) / output_elements(call);             \
        (void)width;                                                                               \
        for (int64_t e = 0; e < output_elements(call); e++) {                                      \
            double sum = 0;                                                                        \
            for (int64_t i = 0; i < elements; i++) {                                               \
                real x = *output++, t = *target++, d = x - t;                                      \
                (void)d;                                                                           \
                sum += (expression);                                                               \
            }                                                                                      \
            out[e] = (real)(sum / (double)elements);                                               \
        }                                                                                          \
    }

LOSS(squared_error, squared((double)d, width))
LOSS(absolute_error, absolute((double)d, width))
LOSS(huber_error, huber((double)d, width))
LOSS(sigmoid_cross_entropy, sigmoid_loss((double)x, (double)t))

/* `factor` is the gradient of the example's loss divided by its number of elements. */
#define SLOPE(name, expression)                                                                    \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        const real *output = real_input(call, 0), *target = real_input(call, 1);                   \
        const real *dy = real_input(call, 2);                                                      \
        real *out = real_output(call, 0);                                                          \
        double width = call->node->attributes.numbers[0];                                          \
        int64_t examples = shape_elements(&call->in[2].shape);                                     \
        int64_t elements = output_elements(call) / examples;                                       \
        (void)width;                                                                               \
        for (int64_t e = 0, i = 0; e < examples; e++) {                                            \
            for (int64_t end = i + elements; i < end; i++) {                                       \
                real x = output[i], t = target[i], d = x - t;                                      \
                (void)d;                                                                           \
                out[i] = (expression);                                                             \
            }                                                                                      \
        }                                                                                          \
    }

/* The bits of 2 dy / elements * difference, as the kernel squared_error has them. */
SLOPE(squared_error_gradient, (real)2 * dy[e] / (real)elements * d)
SLOPE(absolute_error_gradient, dy[e] / (real)elements * (real)sign((double)d))
SLOPE(huber_error_gradient, dy[e] / (real)elements * (real)huber_slope((double)d, width))
SLOPE(sigmoid_cross_entropy_gradient,
      dy[e] / (real)elements * (real)sigmoid_slope((double)x, (double)t))

const struct kernel_row REAL(reference_regress)[] = {
    {&op_squared_error, squared_error},
    {&op_absolute_error, absolute_error},
    {&op_huber_error, huber_error},
    {&op_sigmoid_cross_entropy, sigmoid_cross_entropy},
    {&op_squared_error_gradient, squared_error_gradient},
    {&op_absolute_error_gradient, absolute_error_gradient},
    {&op_huber_error_gradient, huber_error_gradient},
    {&op_sigmoid_cross_entropy_gradient, sigmoid_cross_entropy_gradient},
    {NULL, NULL},
};
