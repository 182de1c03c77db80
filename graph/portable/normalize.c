/*
 * graph/portable/normalize.c: layer norm by its kernels, and batch norm in plain C: each channel
 * has one sum in double, over the rows in ascending order.
 */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/portable/table.h"

static size_t columns_of(const struct kernel_call *call)
{
    return (size_t)shape_last(&call->in[0].shape);
}

static size_t rows_of(const struct kernel_call *call)
{
    return elements_of(&call->in[0]) / columns_of(call);
}

/* `mean` and `inverse` are written forward and read backward. */
static struct layer_norm layer_of(const struct kernel_call *call, void *mean, void *inverse)
{
    return (struct layer_norm){
        .rows = rows_of(call),
        .columns = columns_of(call),
        .x = float_input(call, 0),
        .gain = float_input(call, 1),
        .mean = mean,
        .rstd = inverse,
    };
}

static void layer_norm(const struct kernel_call *call)
{
    struct layer_norm layer = layer_of(call, call->out[1].data, call->out[2].data);
    kernels_of(call)->normalize->layer_forward(&layer, float_input(call, 2),
                                               (float)call->node->attributes.numbers[0],
                                               float_output(call, 0));
}

static void layer_norm_gradient(const struct kernel_call *call)
{
    struct layer_norm layer = layer_of(call, call->in[2].data, call->in[3].data);
    memset(call->out[1].data, 0, layer.columns * sizeof(float));
    memset(call->out[2].data, 0, layer.columns * sizeof(float));
    kernels_of(call)->normalize->layer_backward(&layer, float_input(call, 4), float_output(call, 0),
                                                float_output(call, 1), float_output(call, 2));
}

/* Four doubles per channel. */
struct channels {
    double *mean, *inverse, *sum, *product;
};

enum { DOUBLES = 4 };

static struct kernel_needs channel_needs(const struct kernel_call *call)
{
    return (struct kernel_needs){.workspace = DOUBLES * columns_of(call) * sizeof(double)};
}

static struct channels channels_of(const struct kernel_call *call)
{
    double *data = call->workspace;
    size_t columns = columns_of(call);
    memset(data, 0, DOUBLES * columns * sizeof *data);
    return (struct channels){data, data + columns, data + 2 * columns, data + 3 * columns};
}

static double inverse_deviation(const struct kernel_call *call, double variance)
{
    return 1 / sqrt(variance + call->node->attributes.numbers[0]);
}

/* The moments in two passes: channels.mean, and the variance as outputs have it. */
static void find_moments(const struct kernel_call *call, const struct channels *at)
{
    size_t rows = rows_of(call), columns = columns_of(call);
    const float *x = float_input(call, 0);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++) { at->mean[c] += (double)x[r * columns + c]; }
    }
    for (size_t c = 0; c < columns; c++) { at->mean[c] /= (double)rows; }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++) {
            double d = (double)x[r * columns + c] - at->mean[c];
            at->sum[c] += d * d;
        }
    }
    for (size_t c = 0; c < columns; c++) {
        double variance = at->sum[c] / (double)rows;
        at->inverse[c] = inverse_deviation(call, variance);
        float_output(call, 1)[c] = (float)at->mean[c];
        float_output(call, 2)[c] = (float)variance;
    }
}

static void batch_norm(const struct kernel_call *call)
{
    const float *x = float_input(call, 0), *gain = float_input(call, 1);
    const float *bias = float_input(call, 2);
    float *y = float_output(call, 0);
    size_t rows = rows_of(call), columns = columns_of(call);
    struct channels at = channels_of(call);
    find_moments(call, &at);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++, x++, y++) {
            double unit = ((double)*x - at.mean[c]) * at.inverse[c];
            *y = (float)(unit * (double)gain[c] + (double)bias[c]);
        }
    }
}

/* The sums of dy, and of dy times the normalised x, which are the gradients of bias and gain. */
static void sum_gradients(const struct kernel_call *call, const struct channels *at)
{
    const float *x = float_input(call, 0), *dy = float_input(call, 4);
    size_t rows = rows_of(call), columns = columns_of(call);
    for (size_t c = 0; c < columns; c++) {
        at->mean[c] = (double)float_input(call, 2)[c];
        at->inverse[c] = inverse_deviation(call, (double)float_input(call, 3)[c]);
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++, x++, dy++) {
            at->sum[c] += (double)*dy;
            at->product[c] += (double)*dy * (((double)*x - at->mean[c]) * at->inverse[c]);
        }
    }
    for (size_t c = 0; c < columns; c++) {
        float_output(call, 1)[c] = (float)at->product[c];
        float_output(call, 2)[c] = (float)at->sum[c];
    }
}

/* dx = gain inverse (dy - mean(dy) - unit mean(dy unit)) */
static void batch_norm_gradient(const struct kernel_call *call)
{
    const float *x = float_input(call, 0), *gain = float_input(call, 1);
    const float *dy = float_input(call, 4);
    float *dx = float_output(call, 0);
    size_t rows = rows_of(call), columns = columns_of(call);
    struct channels at = channels_of(call);
    sum_gradients(call, &at);
    for (size_t c = 0; c < columns; c++) {
        at.sum[c] /= (double)rows;
        at.product[c] /= (double)rows;
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++, x++, dy++, dx++) {
            double unit = ((double)*x - at.mean[c]) * at.inverse[c];
            double rest = (double)*dy - at.sum[c] - unit * at.product[c];
            *dx = (float)((double)gain[c] * at.inverse[c] * rest);
        }
    }
}

const struct portable_row portable_normalize[] = {
    {&op_layer_norm, layer_norm, NULL, NULL},
    {&op_layer_norm_gradient, layer_norm_gradient, NULL, NULL},
    {&op_batch_norm, batch_norm, channel_needs, NULL},
    {&op_batch_norm_gradient, batch_norm_gradient, channel_needs, NULL},
    {NULL, NULL, NULL, NULL},
};
