/*
 * examples/c/bell_kernels.h: the kernels of bell.c for numbers of type REAL, which is float for
 * training and double for the check of the gradients; NAME() gives each version its name.
 */

/* y[b][u] = 1 / (1 + sharpness |x[b] - c[u]|^2), the features one after another. */
static void NAME(forward)(const struct tn_kernel_call *call)
{
    const int64_t batch = call->output.shape.dims[0], units = call->output.shape.dims[1];
    const int64_t features = call->inputs[0].shape.dims[1];
    const REAL sharpness = (REAL)call->constants->numbers[0];
    const REAL *x = call->inputs[0].data, *c = call->inputs[1].data;
    REAL *y = call->output.data;
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t u = 0; u < units; u++) {
            REAL sum = 0;
            for (int64_t f = 0; f < features; f++) {
                const REAL d = x[b * features + f] - c[u * features + f];
                sum += d * d;
            }
            y[b * units + u] = 1 / (1 + sharpness * sum);
        }
    }
}

/* dy/dx = -2 sharpness y^2 (x - c), dy/dc the opposite. Each element of the result is a sum over
 * examples and units in their order, in training as in the check. */
static void NAME(backward)(const struct tn_kernel_call *call)
{
    const int64_t batch = call->output.shape.dims[0], units = call->output.shape.dims[1];
    const int64_t features = call->inputs[0].shape.dims[1];
    const REAL sharpness = (REAL)call->constants->numbers[0];
    const REAL *x = call->inputs[0].data, *c = call->inputs[1].data;
    const REAL *y = call->output.data, *dy = call->output_gradient.data;
    REAL *gradient = call->input_gradient.data;
    const int64_t rows = call->input == 0 ? batch : units;
    for (int64_t i = 0; i < rows * features; i++) { gradient[i] = 0; }
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t u = 0; u < units; u++) {
            const REAL value = y[b * units + u];
            const REAL slope = 2 * sharpness * value * value * dy[b * units + u];
            for (int64_t f = 0; f < features; f++) {
                const REAL part = slope * (x[b * features + f] - c[u * features + f]);
                if (call->input == 0) { gradient[b * features + f] -= part; }
                if (call->input == 1) { gradient[u * features + f] += part; }
            }
        }
    }
}
