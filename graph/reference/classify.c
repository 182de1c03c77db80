/* graph/reference/classify.c: softmax cross entropy and accuracy. */
#include <math.h>

#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* A row of logits: p[c] = exp(x[c] - most) / sum. */
struct row {
    const real *x;
    int64_t classes, label;
    double most, sum;
};

static struct row row_at(const struct kernel_call *call, int64_t at)
{
    int64_t classes = shape_last(&call->in[0].shape);
    struct row row = {real_input(call, 0) + at * classes, classes, integer_at(&call->in[1], at),
                      .most = 0, .sum = 0};
    row.most = (double)row.x[0];
    for (int64_t c = 1; c < classes; c++) {
        if ((double)row.x[c] > row.most) { row.most = (double)row.x[c]; }
    }
    for (int64_t c = 0; c < classes; c++) { row.sum += exp((double)row.x[c] - row.most); }
    return row;
}

static bool has_label(const struct row *row)
{
    return row->label >= 0 && row->label < row->classes;
}

/* The wanted probability of class c. */
static double wanted(const struct row *row, int64_t c, double smoothing)
{
    return (c == row->label ? 1 - smoothing : 0.0) + smoothing / (double)row->classes;
}

static double loss_of(const struct row *row, double smoothing)
{
    if (!has_label(row)) { return (double)NAN; }
    if (smoothing == 0) { return log(row->sum) - ((double)row->x[row->label] - row->most); }
    double expected = 0;
    for (int64_t c = 0; c < row->classes; c++) {
        expected += wanted(row, c, smoothing) * ((double)row->x[c] - row->most);
    }
    return log(row->sum) - expected;
}

static void softmax_cross_entropy(const struct kernel_call *call)
{
    real *exponentials = real_output(call, 0), *losses = real_output(call, 1);
    for (int64_t i = 0; i < shape_elements(&call->out[1].shape); i++) {
        struct row row = row_at(call, i);
        losses[i] = (real)loss_of(&row, call->node->attributes.numbers[0]);
        for (int64_t c = 0; c < row.classes; c++) {
            *exponentials++ = (real)exp((double)row.x[c] - row.most);
        }
    }
}

/* The gradient of a row, which holds exponentials. */
static void slope_of(const struct row *row, double smoothing, double dy, real *out)
{
    double sum = 0;
    for (int64_t c = 0; c < row->classes; c++) { sum += (double)row->x[c]; }
    for (int64_t c = 0; c < row->classes; c++) {
        double target = has_label(row) ? wanted(row, c, smoothing) : (double)NAN;
        out[c] = (real)(((double)row->x[c] / sum - target) * dy);
    }
}

static void softmax_cross_entropy_gradient(const struct kernel_call *call)
{
    const real *dy = real_input(call, 2);
    real *out = real_output(call, 0);
    int64_t classes = shape_last(&call->in[0].shape);
    for (int64_t i = 0; i < shape_elements(&call->in[1].shape); i++) {
        struct row row = {.x = real_input(call, 0) + i * classes,
                          .classes = classes,
                          .label = integer_at(&call->in[1], i)};
        slope_of(&row, call->node->attributes.numbers[0], (double)dy[i], out + i * classes);
    }
}

/* Whether the greatest logit, the first if several are equal, is that of the label. */
static void is_correct(const struct kernel_call *call)
{
    real *out = real_output(call, 0);
    for (int64_t i = 0; i < output_elements(call); i++) {
        struct row row = row_at(call, i);
        int64_t best = 0;
        for (int64_t c = 1; c < row.classes; c++) {
            if (row.x[c] > row.x[best]) { best = c; }
        }
        out[i] = best == row.label;
    }
}

const struct kernel_row REAL(reference_classify)[] = {
    {&op_softmax_cross_entropy, softmax_cross_entropy},
    {&op_softmax_cross_entropy_gradient, softmax_cross_entropy_gradient},
    {&op_is_correct, is_correct},
    {NULL, NULL},
};
