/* graph/portable/regress.c: sigmoid cross entropy; the other losses of elements are exact in C. */
#include <math.h>

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/portable/table.h"

/* One float per logit. */
static struct kernel_needs regress_needs(const struct kernel_call *call)
{
    return needs_floats(elements_of(&call->in[0]), 0);
}

/* max(x, 0) - x t + log(1 + exp(-|x|)) */
static void sigmoid_cross_entropy(const struct kernel_call *call)
{
    const float *x = float_input(call, 0), *target = float_input(call, 1);
    float *out = float_output(call, 0), *rest = call->workspace;
    size_t examples = elements_of(&call->out[0]), all = elements_of(&call->in[0]);
    size_t width = all / examples;
    for (size_t i = 0; i < all; i++) { rest[i] = -fabsf(x[i]); }
    kernels_of(call)->elementwise->unary[ELEMENTWISE_SOFTPLUS](all, rest, rest);
    for (size_t e = 0; e < examples; e++) {
        double sum = 0;
        for (size_t i = 0; i < width; i++, x++, target++, rest++) {
            double logit = (double)*x;
            sum += double_max(logit, 0) - logit * (double)*target + (double)*rest;
        }
        out[e] = (float)(sum / (double)width);
    }
}

static void sigmoid_cross_entropy_gradient(const struct kernel_call *call)
{
    const float *target = float_input(call, 1), *dy = float_input(call, 2);
    float *out = float_output(call, 0), *p = call->workspace;
    size_t examples = elements_of(&call->in[2]), all = elements_of(&call->in[0]);
    kernels_of(call)->elementwise->unary[ELEMENTWISE_SIGMOID](all, float_input(call, 0), p);
    for (size_t i = 0, width = all / examples; i < all; i++) {
        out[i] = dy[i / width] / (float)width * (p[i] - target[i]);
    }
}

const struct portable_row portable_regress[] = {
    {&op_sigmoid_cross_entropy, sigmoid_cross_entropy, regress_needs, NULL},
    {&op_sigmoid_cross_entropy_gradient, sigmoid_cross_entropy_gradient, regress_needs, NULL},
    {NULL, NULL, NULL, NULL},
};
