/*
 * graph/portable/classify.c: softmax cross entropy, row by row. With smoothing s, the loss is that
 * of the label plus s (x[label] - mean(x)).
 */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/portable/table.h"

static size_t classes_of(const struct kernel_call *call)
{
    return (size_t)shape_last(&call->in[0].shape);
}

/* False: the label of this row is out of range. */
static bool label_at(const struct kernel_call *call, size_t row, int32_t *label)
{
    int64_t found = integer_at(&call->in[1], (int64_t)row);
    if (found < 0 || found >= shape_last(&call->in[0].shape)) { return false; }
    *label = (int32_t)found;
    return true;
}

/* A row of probabilities. */
static struct kernel_needs loss_needs(const struct kernel_call *call)
{
    return needs_floats(classes_of(call), 0);
}

static float loss_of(const struct kernel_call *call, const float *logits, int32_t label)
{
    const struct portable *kernels = kernels_of(call);
    size_t classes = classes_of(call);
    float smoothing = (float)call->node->attributes.numbers[0], loss;
    kernels->softmax->cross_entropy(1, classes, logits, &label, &loss, call->workspace);
    if (smoothing == 0.0F) { return loss; }
    float mean = kernels->reduce->sum(classes, logits) / (float)classes;
    return loss + smoothing * (logits[label] - mean);
}

static void softmax_cross_entropy(const struct kernel_call *call)
{
    const float *logits = float_input(call, 0);
    float *losses = float_output(call, 0);
    for (size_t i = 0; i < elements_of(&call->out[0]); i++, logits += classes_of(call)) {
        int32_t label;
        losses[i] = label_at(call, i, &label) ? loss_of(call, logits, label) : NAN;
    }
}

/* out = (p - wanted) dy. */
static void slope_of(const struct kernel_call *call, const float *logits, int32_t label, float dy,
                     float *out)
{
    const struct softmax_kernels *kernels = kernels_of(call)->softmax;
    size_t classes = classes_of(call);
    float smoothing = (float)call->node->attributes.numbers[0], loss;
    kernels->cross_entropy(1, classes, logits, &label, &loss, out);
    if (smoothing == 0.0F) {
        kernels->cross_entropy_backward(1, classes, out, &label, &dy, out);
        return;
    }
    float share = smoothing / (float)classes;
    out[label] -= 1 - smoothing;
    for (size_t c = 0; c < classes; c++) { out[c] = (out[c] - share) * dy; }
}

static void softmax_cross_entropy_gradient(const struct kernel_call *call)
{
    const float *logits = float_input(call, 0), *dy = float_input(call, 2);
    float *out = float_output(call, 0);
    size_t classes = classes_of(call);
    for (size_t i = 0; i < elements_of(&call->in[1]); i++, logits += classes, out += classes) {
        int32_t label;
        if (label_at(call, i, &label)) {
            slope_of(call, logits, label, dy[i], out);
        } else {
            for (size_t c = 0; c < classes; c++) { out[c] = NAN; }
        }
    }
}

const struct portable_row portable_classify[] = {
    {&op_softmax_cross_entropy, softmax_cross_entropy, loss_needs, NULL},
    {&op_softmax_cross_entropy_gradient, softmax_cross_entropy_gradient, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
