/* graph/reference/unary.c: functions of one value, element by element. */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* `x` is an element, `c` and `d` are the operation's constants. */
#define UNARY(name, expression)                                                                    \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        const real *in = real_input(call, 0);                                                      \
        real *out = real_output(call, 0);                                                          \
        real c = (real)call->node->attributes.numbers[0];                                          \
        real d = (real)call->node->attributes.numbers[1];                                          \
        (void)c, (void)d;                                                                          \
        for (int64_t i = 0; i < output_elements(call); i++) {                                      \
            real x = in[i];                                                                        \
            out[i] = (expression);                                                                 \
        }                                                                                          \
    }

/* NaN stays. */
static real clip_element(real x, real lowest, real highest)
{
    if (x < lowest) { return lowest; }
    if (x > highest) { return highest; }
    return x;
}

UNARY(scale, x *c)
UNARY(power, (real)pow((double)x, (double)c))
UNARY(square_root, (real)sqrt((double)x))
UNARY(exponential, (real)exp((double)x))
UNARY(logarithm, (real)log((double)x))
UNARY(error_function, (real)erf((double)x))
UNARY(clip, clip_element(x, c, d))

static void copy(const struct kernel_call *call)
{
    if (call->out[0].data != call->in[0].data) {
        memcpy(call->out[0].data, call->in[0].data, (size_t)output_elements(call) * sizeof(real));
    }
}

static void clip_gradient(const struct kernel_call *call)
{
    const real *x = real_input(call, 0), *dy = real_input(call, 1);
    const double *numbers = call->node->attributes.numbers;
    real *dx = real_output(call, 0);
    for (int64_t i = 0; i < output_elements(call); i++) {
        bool inside = x[i] >= (real)numbers[0] && x[i] <= (real)numbers[1];
        dx[i] = inside ? dy[i] : 0;
    }
}

const struct kernel_row REAL(reference_unary)[] = {
    {&op_scale, scale},      {&op_power, power},
    {&op_sqrt, square_root}, {&op_exp, exponential},
    {&op_log, logarithm},    {&op_erf, error_function},
    {&op_clip, clip},        {&op_clip_gradient, clip_gradient},
    {&op_copy, copy},        {NULL, NULL},
};
