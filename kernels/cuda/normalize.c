/*
 * kernels/cuda/normalize.c: layer norm with the bits of kernels/portable/normalize.h, and batch
 * norm with those of graph/portable/normalize.c. A column has one sum over the rows, in ascending
 * order, and so one thread.
 */
#include "kernels/cuda/row.h"

/* The sum of squares of x - mean. In the last vector, lanes behind the end of the row are zeros. */
DEVICE_INLINE float squares_of(size_t count, const float *x, float mean)
{
    float sum = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) {
        const float d = i < count ? x[i] - mean : 0.0F;
        sum = FMA(d, d, sum);
    }
    return lanes_sum(sum);
}

KERNEL(layer_norm, struct cuda_norm)
{
    const size_t count = ROW < a.rows ? a.columns : 0, first = ROW * a.columns;
    const float share = 1.0F / (float)a.columns;
    const float mean = sum_of(count, a.x + first) * share;
    const float squares = squares_of(count, a.x + first, mean);
    const float rstd = 1.0F / sqrtf(squares * share + (float)a.epsilon);
    for (size_t i = LANE; i < count; i += LANES) {
        a.y[first + i] = FMA((a.x[first + i] - mean) * rstd, a.gain[i], a.bias[i]);
    }
    if (count > 0 && LANE == 0) {
        a.mean[ROW] = mean;
        a.second[ROW] = rstd;
    }
}

KERNEL(layer_norm_gradient, struct cuda_norm_gradient)
{
    const size_t count = ROW < a.rows ? a.columns : 0, first = ROW * a.columns;
    const float share = 1.0F / (float)a.columns;
    const float mean = count > 0 ? a.mean[ROW] : 0.0F, rstd = count > 0 ? a.second[ROW] : 0.0F;
    float sum = 0.0F, product = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) {
        const bool is_inside = i < count;
        const float normal = ((is_inside ? a.x[first + i] : 0.0F) - mean) * rstd;
        const float scaled = is_inside ? a.dy[first + i] * a.gain[i] : 0.0F;
        sum = sum + scaled;
        product = FMA(scaled, normal, product);
    }
    const float from = lanes_sum(sum) * share, slope = lanes_sum(product) * share;
    for (size_t i = LANE; i < count; i += LANES) {
        const float normal = (a.x[first + i] - mean) * rstd;
        const float scaled = a.dy[first + i] * a.gain[i];
        a.dx[first + i] = rstd * FMA(-normal, slope, scaled - from);
    }
}

KERNEL(layer_norm_sums, struct cuda_norm_gradient)
{
    EACH_ELEMENT(c, a.columns)
    {
        float gain = 0.0F, bias = 0.0F;
        for (size_t r = 0; r < a.rows; r++) {
            const size_t i = r * a.columns + c;
            gain = FMA(a.dy[i], (a.x[i] - a.mean[r]) * a.second[r], gain);
            bias = a.dy[i] + bias;
        }
        a.dgain[c] = gain;
        a.dbias[c] = bias;
    }
}

static void run_layer_norm(const struct cuda_norm *task)
{
    if (task->rows > 0) { LAUNCH(layer_norm, row_blocks(task->rows), ROW_THREADS, *task); }
}

static void run_layer_norm_gradient(const struct cuda_norm_gradient *task)
{
    const size_t rows = task->rows, columns = task->columns;
    if (columns > 0) { LAUNCH(layer_norm_sums, blocks_for(columns), ELEMENT_THREADS, *task); }
    if (rows > 0) { LAUNCH(layer_norm_gradient, row_blocks(rows), ROW_THREADS, *task); }
}

/* ------------------------------------------------------ batch norm */

KERNEL(batch_norm, struct cuda_norm)
{
    EACH_ELEMENT(c, a.columns)
    {
        double mean = 0, squares = 0;
        for (size_t r = 0; r < a.rows; r++) { mean = mean + (double)a.x[r * a.columns + c]; }
        mean = mean / (double)a.rows;
        for (size_t r = 0; r < a.rows; r++) {
            const double d = (double)a.x[r * a.columns + c] - mean;
            squares = squares + d * d;
        }
        const double variance = squares / (double)a.rows;
        const double inverse = 1 / sqrt(variance + a.epsilon);
        for (size_t r = 0; r < a.rows; r++) {
            const double unit = ((double)a.x[r * a.columns + c] - mean) * inverse;
            a.y[r * a.columns + c] = (float)(unit * (double)a.gain[c] + (double)a.bias[c]);
        }
        a.mean[c] = (float)mean;
        a.second[c] = (float)variance;
    }
}

KERNEL(batch_norm_gradient, struct cuda_norm_gradient)
{
    EACH_ELEMENT(c, a.columns)
    {
        const double mean = (double)a.mean[c], gain = (double)a.gain[c];
        const double inverse = 1 / sqrt((double)a.second[c] + a.epsilon);
        double sum = 0, product = 0;
        for (size_t r = 0; r < a.rows; r++) {
            const size_t i = r * a.columns + c;
            sum = sum + (double)a.dy[i];
            product = product + (double)a.dy[i] * (((double)a.x[i] - mean) * inverse);
        }
        a.dgain[c] = (float)product;
        a.dbias[c] = (float)sum;
        sum = sum / (double)a.rows;
        product = product / (double)a.rows;
        for (size_t r = 0; r < a.rows; r++) {
            const size_t i = r * a.columns + c;
            const double unit = ((double)a.x[i] - mean) * inverse;
            const double rest = (double)a.dy[i] - sum - unit * product;
            a.dx[i] = (float)(gain * inverse * rest);
        }
    }
}

static void run_batch_norm(const struct cuda_norm *task)
{
    if (task->columns > 0) {
        LAUNCH(batch_norm, blocks_for(task->columns), ELEMENT_THREADS, *task);
    }
}

static void run_batch_norm_gradient(const struct cuda_norm_gradient *task)
{
    if (task->columns > 0) {
        LAUNCH(batch_norm_gradient, blocks_for(task->columns), ELEMENT_THREADS, *task);
    }
}

CUDA_EXPORT void CUDA_FILL(normalize)(struct cuda_kernels *table)
{
    table->layer_norm = run_layer_norm;
    table->layer_norm_gradient = run_layer_norm_gradient;
    table->batch_norm = run_batch_norm;
    table->batch_norm_gradient = run_batch_norm_gradient;
}
