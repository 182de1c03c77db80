/*
 * graph/portable/classify.c: softmax cross entropy, row by row; output 0 has the probabilities.
 * With smoothing s, the loss is that of the label plus s (x[label] - mean(x)).
 */
#include <math.h>

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

/* The loss of a row; its probabilities may be written over the logits. */
static float loss_of(const struct kernel_call *call, const float *logits, int32_t label,
                     float *probabilities)
{
    const struct portable *kernels = kernels_of(call);
    size_t classes = classes_of(call);
    float smoothing = (float)call->node->attributes.numbers[0], loss, extra = 0;
    if (smoothing != 0.0F) {
        float mean = kernels->reduce->sum(classes, logits) / (float)classes;
        extra = smoothing * (logits[label] - mean);
    }
    kernels->softmax->cross_entropy(1, classes, logits, &label, &loss, probabilities);
    return smoothing == 0.0F ? loss : loss + extra;
}

static void softmax_cross_entropy(const struct kernel_call *call)
{
    const float *logits = float_input(call, 0);
    float *probabilities = float_output(call, 0), *losses = float_output(call, 1);
    for (size_t i = 0; i < elements_of(&call->out[1]); i++) {
        size_t at = i * classes_of(call);
        int32_t label = 0;
        bool has_label = label_at(call, i, &label);
        float loss = loss_of(call, logits + at, label, probabilities + at);
        losses[i] = has_label ? loss : NAN;
    }
}

/* out = (p - wanted) dy; it may be written over p. */
static void slope_of(const struct kernel_call *call, const float *p, int32_t label, float dy,
                     float *out)
{
    size_t classes = classes_of(call);
    float smoothing = (float)call->node->attributes.numbers[0];
    if (smoothing == 0.0F) {
        kernels_of(call)->softmax->cross_entropy_backward(1, classes, p, &label, &dy, out);
        return;
    }
    float share = smoothing / (float)classes, at_label = p[label] - (1 - smoothing);
    for (size_t c = 0; c < classes; c++) { out[c] = (p[c] - share) * dy; }
    out[label] = (at_label - share) * dy;
}

static void softmax_cross_entropy_gradient(const struct kernel_call *call)
{
    const float *p = float_input(call, 0), *dy = float_input(call, 2);
    float *out = float_output(call, 0);
    size_t classes = classes_of(call);
    for (size_t i = 0; i < elements_of(&call->in[1]); i++, p += classes, out += classes) {
        int32_t label;
        if (label_at(call, i, &label)) {
            slope_of(call, p, label, dy[i], out);
        } else {
            for (size_t c = 0; c < classes; c++) { out[c] = NAN; }
        }
    }
}

const struct portable_row portable_classify[] = {
    {&op_softmax_cross_entropy, softmax_cross_entropy, NULL, NULL},
    {&op_softmax_cross_entropy_gradient, softmax_cross_entropy_gradient, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
