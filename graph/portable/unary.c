/* graph/portable/unary.c: functions of one value, element by element. */
#include "graph/ops/ops.h"
#include "graph/portable/power.h"
#include "graph/portable/table.h"

#define UNARY(name, which)                                                                         \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        kernels_of(call)->elementwise->unary[which](elements_of(&call->out[0]),                    \
                                                    float_input(call, 0), float_output(call, 0));  \
    }

UNARY(square_root, ELEMENTWISE_SQRT)
UNARY(exponential, ELEMENTWISE_EXP)
UNARY(logarithm, ELEMENTWISE_LOG)
UNARY(error_function, ELEMENTWISE_ERF)

static void scale(const struct kernel_call *call)
{
    kernels_of(call)->elementwise->scale(elements_of(&call->out[0]),
                                         (float)call->node->attributes.numbers[0],
                                         float_input(call, 0), float_output(call, 0));
}

static void clip(const struct kernel_call *call)
{
    const double *numbers = call->node->attributes.numbers;
    kernels_of(call)->elementwise->clip(elements_of(&call->out[0]), (float)numbers[0],
                                        (float)numbers[1], float_input(call, 0),
                                        float_output(call, 0));
}

static void power(const struct kernel_call *call)
{
    const float *x = float_input(call, 0);
    float *out = float_output(call, 0), c = (float)call->node->attributes.numbers[0];
    for (size_t i = 0; i < elements_of(&call->out[0]); i++) { out[i] = power_of(x[i], c); }
}

const struct portable_row portable_unary[] = {
    {&op_sqrt, square_root, NULL, NULL}, {&op_exp, exponential, NULL, NULL},
    {&op_log, logarithm, NULL, NULL},    {&op_erf, error_function, NULL, NULL},
    {&op_scale, scale, NULL, NULL},      {&op_clip, clip, NULL, NULL},
    {&op_power, power, NULL, NULL},      {NULL, NULL, NULL, NULL},
};
