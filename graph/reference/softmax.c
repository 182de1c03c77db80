/* graph/reference/softmax.c: softmax and its gradient, row by row. */
#include <math.h>

#include "graph/ops/ops.h"
#include "graph/reference/real.h"

static void softmax_row(const real *x, real *y, int64_t columns)
{
    double most = (double)x[0], sum = 0;
    for (int64_t i = 1; i < columns; i++) {
        if ((double)x[i] > most) { most = (double)x[i]; }
    }
    for (int64_t i = 0; i < columns; i++) { sum += exp((double)x[i] - most); }
    for (int64_t i = 0; i < columns; i++) { y[i] = (real)(exp((double)x[i] - most) / sum); }
}

static void softmax(const struct kernel_call *call)
{
    const real *x = real_input(call, 0);
    real *y = real_output(call, 0);
    int64_t columns = shape_last(&call->out[0].shape);
    for (int64_t at = 0; at < output_elements(call); at += columns) {
        softmax_row(x + at, y + at, columns);
    }
}

/* dx = y (dy - sum(y dy)) */
static void softmax_gradient(const struct kernel_call *call)
{
    const real *y = real_input(call, 0), *dy = real_input(call, 1);
    real *dx = real_output(call, 0);
    int64_t columns = shape_last(&call->out[0].shape);
    for (int64_t at = 0; at < output_elements(call); at += columns) {
        double dot = 0;
        for (int64_t i = at; i < at + columns; i++) { dot += (double)y[i] * (double)dy[i]; }
        for (int64_t i = at; i < at + columns; i++) {
            dx[i] = (real)((double)y[i] * ((double)dy[i] - dot));
        }
    }
}

const struct kernel_row REAL(reference_softmax)[] = {
    {&op_softmax, softmax},
    {&op_softmax_gradient, softmax_gradient},
    {NULL, NULL},
};
