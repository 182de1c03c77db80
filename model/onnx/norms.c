/* model/onnx/norms.c: normalisation, softmax, sums over dimensions. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/onnx/node.h"

/* The statistics of the file, one for each channel; NULL: an error. */
static const float *statistics(struct onnx_call *call, uint32_t index, int64_t channels)
{
    const struct onnx_value *value = onnx_input(call, index);
    const struct onnx_tensor *given = value != NULL ? &value->given : NULL;
    if (given != NULL && given->floats != NULL && given->count == (uint64_t)channels) {
        return given->floats;
    }
    onnx_refuse(call,
                "input %" PRIu32 " must be an initializer with a float for each of %" PRId64
                " channels",
                index, channels);
    return NULL;
}

/* (x - mean) / deviation, with the statistics as constants. */
static tn_tensor standardise(struct onnx_call *call, tn_tensor x, int64_t channels)
{
    const double epsilon = (double)onnx_number(call, "epsilon", 1e-5F);
    const float *mean = statistics(call, 3, channels), *variance = statistics(call, 4, channels);
    if (mean == NULL || variance == NULL) { return TN_NONE; }
    float *factors = malloc((size_t)channels * sizeof *factors + 1);
    if (factors == NULL) {
        onnx_fail(call->import, TN_ENOMEM, "out of memory for %" PRId64 " channels", channels);
        return TN_NONE;
    }
    for (int64_t c = 0; c < channels; c++) {
        factors[c] = (float)(1 / sqrt((double)variance[c] + epsilon));
        if (isfinite(mean[c]) && isfinite(factors[c])) { continue; }
        onnx_refuse(call, "the mean or variance of channel %" PRId64 " is out of range", c);
    }
    struct tn_view view = {.type = TN_FLOAT32, .shape = TN_SHAPE(channels)};
    view.data = (void *)(uintptr_t)mean;
    x = tn_subtract(call->graph, x, tn_constant(call->graph, view));
    view.data = factors;
    x = tn_multiply(call->graph, x, tn_constant(call->graph, view));
    free(factors);
    return x;
}

/* As in use: gain and offset are trained, the statistics are constants. */
static void build_batch_norm(struct onnx_call *call)
{
    uint32_t axes[TN_RANK_MAX] = {0}, order[TN_RANK_MAX] = {0};
    struct onnx_value *x = onnx_tensor_any(call, 0);
    if (onnx_integer(call, "training_mode", 0) != 0 || onnx_output_count(call) > 1) {
        onnx_refuse(call, "it computes statistics of the batch (training_mode 1), which are not "
                          "supported: export the model for use (model.eval())");
    }
    if (x == NULL || onnx_failed(call->import)) { return; }
    if (x->rank < 2) {
        onnx_refuse(call, "input 0 has rank %" PRIu32 ": give channels", x->rank);
        return;
    }
    const uint32_t last = x->rank - 1;
    for (uint32_t j = 1; j < last; j++) { axes[j] = j + 1; }
    axes[last] = 1;
    for (uint32_t j = 0; j <= last; j++) { order[axes[j]] = j; }
    const int64_t channels = onnx_shape(call->import, x).dims[1];
    tn_tensor y = onnx_permuted(call->import, x, axes, x->rank);
    y = standardise(call, y, channels);
    y = tn_multiply(call->graph, y, onnx_tensor(call, 1));
    y = tn_add(call->graph, y, onnx_tensor(call, 2));
    onnx_put_ordered(call, y, order, last + 1);
}

static void build_layer_norm(struct onnx_call *call)
{
    const float epsilon = onnx_number(call, "epsilon", 1e-5F);
    tn_tensor x = onnx_tensor(call, 0), gain = onnx_tensor(call, 1);
    const struct tn_shape shape = tn_shape_of(call->graph, x);
    if (onnx_failed(call->import) || shape.rank == 0) { return; }
    const uint32_t axis = onnx_axis(call, onnx_integer(call, "axis", -1), shape.rank);
    if (axis != shape.rank - 1) {
        onnx_refuse(call, "attribute 'axis' is %" PRIu32 ": only the last one is supported", axis);
    }
    if (onnx_output_count(call) > 1) { onnx_refuse(call, "output 1 (mean) is not supported"); }
    tn_tensor bias = tn_scale(call->graph, gain, 0);
    if (onnx_input(call, 2) != NULL) { bias = onnx_tensor(call, 2); }
    onnx_put(call, 0, tn_normalize_layer(call->graph, x, gain, bias, epsilon));
}

/* Before opset 13 it was over all dimensions from `axis` on, 1 by default. */
static void build_softmax(struct onnx_call *call)
{
    tn_tensor x = onnx_tensor(call, 0);
    const uint32_t rank = tn_shape_of(call->graph, x).rank;
    if (onnx_failed(call->import) || rank == 0) { return; }
    const int64_t otherwise = call->import->opset >= 13 ? -1 : 1;
    const uint32_t axis = onnx_axis(call, onnx_integer(call, "axis", otherwise), rank);
    if (axis != rank - 1) {
        onnx_refuse(call, "axis is %" PRIu32 ": only the last one, %" PRIu32 ", is supported", axis,
                    rank - 1);
        return;
    }
    struct onnx_value value = {.kind = ONNX_TENSOR, .rank = rank, .last = ONNX_LAST_SOFTMAX};
    value.x = tn_softmax(call->graph, x);
    if (strcmp(call->operation->name, "LogSoftmax") == 0) {
        value.x = tn_log(call->graph, value.x);
    }
    value.logits = x;
    for (uint32_t i = 0; i < rank; i++) { value.order[i] = i; }
    onnx_put_value(call, value);
}

/* With keepdims the dimensions stay, with size 1. */
static void build_reduce(struct onnx_call *call)
{
    struct onnx_integers list;
    uint32_t axes[TN_RANK_MAX] = {0}, count = 0;
    tn_tensor x = onnx_tensor(call, 0);
    struct tn_shape shape = tn_shape_of(call->graph, x);
    const bool mean = strcmp(call->operation->name, "ReduceMean") == 0;
    if (!onnx_list(call, "axes", 1, &list) || list.count > TN_RANK_MAX) {
        onnx_refuse(call, "it is over all dimensions, also the batch: give 'axes'");
    }
    if (onnx_failed(call->import)) { return; }
    for (uint32_t i = 0; i < list.count; i++) {
        axes[count++] = onnx_axis(call, list.at[i], shape.rank);
    }
    if (onnx_failed(call->import)) { return; }
    tn_tensor y = mean ? tn_mean(call->graph, x, axes, count) : tn_sum(call->graph, x, axes, count);
    if (onnx_integer(call, "keepdims", 1) != 0 && y.v != 0) {
        for (uint32_t i = 0; i < count; i++) { shape.dims[axes[i]] = 1; }
        y = tn_reshape(call->graph, y, shape);
    }
    onnx_put(call, 0, y);
}

const struct onnx_operation onnx_norms[] = {
    {"BatchNormalization", build_batch_norm, "epsilon momentum training_mode ", 5, 5, NULL, NULL},
    {"LayerNormalization", build_layer_norm, "axis epsilon stash_type ", 2, 3, NULL, NULL},
    {"Softmax", build_softmax, "axis ", 1, 1, NULL, NULL},
    {"LogSoftmax", build_softmax, "axis ", 1, 1, NULL, NULL},
    {"ReduceMean", build_reduce, "axes keepdims noop_with_empty_axes ", 1, 2, NULL, NULL},
    {"ReduceSum", build_reduce, "axes keepdims noop_with_empty_axes ", 1, 2, NULL, NULL},
    {NULL, NULL, NULL, 0, 0, NULL, NULL},
};
