/* graph/reference/normalize.c: layer norm and batch norm. Moments are computed in double and in
 * two passes. */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* `count` elements, `step` apart. */
struct series {
    const real *data;
    int64_t count, step;
};

static double mean_of(const struct series *series)
{
    double sum = 0;
    for (int64_t i = 0; i < series->count; i++) { sum += (double)series->data[i * series->step]; }
    return sum / (double)series->count;
}

static double variance_of(const struct series *series, double mean)
{
    double sum = 0;
    for (int64_t i = 0; i < series->count; i++) {
        double difference = (double)series->data[i * series->step] - mean;
        sum += difference * difference;
    }
    return sum / (double)series->count;
}

static void layer_norm(const struct kernel_call *call)
{
    const real *x = real_input(call, 0), *gain = real_input(call, 1), *bias = real_input(call, 2);
    real *y = real_output(call, 0), *means = real_output(call, 1), *inverses = real_output(call, 2);
    int64_t columns = shape_last(&call->in[0].shape);
    for (int64_t at = 0, row = 0; at < output_elements(call); at += columns, row++) {
        struct series series = {x + at, columns, 1};
        double mean = mean_of(&series);
        double inverse = 1 / sqrt(variance_of(&series, mean) + call->node->attributes.numbers[0]);
        means[row] = (real)mean;
        inverses[row] = (real)inverse;
        for (int64_t i = 0; i < columns; i++) {
            double unit = ((double)x[at + i] - mean) * inverse;
            y[at + i] = (real)(unit * (double)gain[i] + (double)bias[i]);
        }
    }
}

/* The gradient of normalising `count` elements `step` apart, with u = (x - mean) inverse and
 * g = dy gain: dx = inverse (g - mean(g) - u mean(g u)). A gain of `gain_step` 0 is one number. */
static void normalize_back(const struct series *x, const real *dy, const real *gain,
                           int64_t gain_step, double mean, double inverse, real *dx)
{
    double sum = 0, product = 0;
    for (int64_t i = 0; i < x->count; i++) {
        double g = (double)dy[i * x->step] * (double)gain[i * gain_step];
        sum += g;
        product += g * ((double)x->data[i * x->step] - mean) * inverse;
    }
    sum /= (double)x->count;
    product /= (double)x->count;
    for (int64_t i = 0; i < x->count; i++) {
        double g = (double)dy[i * x->step] * (double)gain[i * gain_step];
        double unit = ((double)x->data[i * x->step] - mean) * inverse;
        dx[i * x->step] = (real)(inverse * (g - sum - unit * product));
    }
}

static void layer_norm_gradient(const struct kernel_call *call)
{
    const real *x = real_input(call, 0), *gain = real_input(call, 1);
    const real *means = real_input(call, 2), *inverses = real_input(call, 3);
    const real *dy = real_input(call, 4);
    real *dx = real_output(call, 0), *dgain = real_output(call, 1), *dbias = real_output(call, 2);
    int64_t columns = shape_last(&call->in[0].shape);
    memset(dgain, 0, (size_t)columns * sizeof(real));
    memset(dbias, 0, (size_t)columns * sizeof(real));
    for (int64_t at = 0, row = 0; at < output_elements(call); at += columns, row++) {
        struct series series = {x + at, columns, 1};
        normalize_back(&series, dy + at, gain, 1, (double)means[row], (double)inverses[row],
                       dx + at);
        for (int64_t i = 0; i < columns; i++) {
            dgain[i] += dy[at + i] * (x[at + i] - means[row]) * inverses[row];
            dbias[i] += dy[at + i];
        }
    }
}

static void batch_norm(const struct kernel_call *call)
{
    const real *x = real_input(call, 0), *gain = real_input(call, 1), *bias = real_input(call, 2);
    real *y = real_output(call, 0), *means = real_output(call, 1);
    real *variances = real_output(call, 2);
    int64_t channels = shape_last(&call->in[0].shape), rows = output_elements(call) / channels;
    for (int64_t c = 0; c < channels; c++) {
        struct series series = {x + c, rows, channels};
        double mean = mean_of(&series), variance = variance_of(&series, mean);
        double inverse = 1 / sqrt(variance + call->node->attributes.numbers[0]);
        means[c] = (real)mean;
        variances[c] = (real)variance;
        for (int64_t i = c; i < output_elements(call); i += channels) {
            y[i] = (real)(((double)x[i] - mean) * inverse * (double)gain[c] + (double)bias[c]);
        }
    }
}

static void batch_norm_gradient(const struct kernel_call *call)
{
    const real *x = real_input(call, 0), *gain = real_input(call, 1);
    const real *means = real_input(call, 2), *variances = real_input(call, 3);
    const real *dy = real_input(call, 4);
    real *dx = real_output(call, 0), *dgain = real_output(call, 1), *dbias = real_output(call, 2);
    int64_t channels = shape_last(&call->in[0].shape), rows = output_elements(call) / channels;
    for (int64_t c = 0; c < channels; c++) {
        struct series series = {x + c, rows, channels};
        double inverse = 1 / sqrt((double)variances[c] + call->node->attributes.numbers[0]);
        double sum = 0, product = 0;
        for (int64_t i = c; i < output_elements(call); i += channels) {
            sum += (double)dy[i];
            product += (double)dy[i] * ((double)x[i] - (double)means[c]) * inverse;
        }
        dgain[c] = (real)product;
        dbias[c] = (real)sum;
        normalize_back(&series, dy + c, gain + c, 0, (double)means[c], inverse, dx + c);
    }
}

/* A moment of the slice, weighted by its share of the batch: the sum over all slices is the mean
 * over the batch (rule A13). */
static void slice_moment(const struct kernel_call *call)
{
    const real *moment = real_input(call, 0);
    real *out = real_output(call, 0), weight = (real)call->examples * (real)call->scale;
    for (int64_t i = 0; i < output_elements(call); i++) { out[i] = moment[i] * weight; }
}

const struct kernel_row REAL(reference_normalize)[] = {
    {&op_layer_norm, layer_norm},     {&op_layer_norm_gradient, layer_norm_gradient},
    {&op_batch_norm, batch_norm},     {&op_batch_norm_gradient, batch_norm_gradient},
    {&op_slice_moment, slice_moment}, {NULL, NULL},
};
