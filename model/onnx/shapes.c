/* model/onnx/shapes.c: other shapes for the same elements. The batch stays in front. */
#include <inttypes.h>
#include <string.h>

#include "model/onnx/node.h"

static void build_flatten(struct onnx_call *call)
{
    tn_tensor x = onnx_tensor(call, 0);
    const struct tn_shape shape = tn_shape_of(call->graph, x);
    int64_t rest = 1;
    if (x.v == 0) { return; }
    const int64_t axis = onnx_integer(call, "axis", 1);
    if (shape.dims[0] != TN_BATCH || (axis != 1 && axis != 1 - (int64_t)shape.rank)) {
        onnx_refuse(call, "axis %" PRId64 ": only 1, which keeps the batch, is supported", axis);
        return;
    }
    for (uint32_t i = 1; i < shape.rank; i++) { rest *= shape.dims[i]; }
    onnx_put(call, 0, tn_reshape(call->graph, x, TN_SHAPE(TN_BATCH, rest)));
}

/* ------------------------------------------------------------- Reshape */

static bool is_batch(const struct onnx_call *call, int64_t size)
{
    return size == ONNX_BATCH || size == -1 || size == 0 ||
           (call->import->file_batch > 0 && size == call->import->file_batch);
}

/* The shape that the list asks for; a -1 is computed. False: it does not fit. */
static bool wanted_shape(const struct onnx_call *call, const struct tn_shape *from,
                         const struct onnx_integers *list, struct tn_shape *out)
{
    const bool batch = from->rank > 0 && from->dims[0] == TN_BATCH;
    int64_t have = 1, product = 1;
    uint32_t unknown = TN_RANK_MAX;
    *out = (struct tn_shape){.rank = list->count};
    for (uint32_t i = batch ? 1 : 0; i < from->rank; i++) { have *= from->dims[i]; }
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t size = list->at[i];
        if (size == 0 && i < from->rank) { size = from->dims[i]; }
        if (batch && i == 0 && is_batch(call, list->at[0])) {
            out->dims[0] = TN_BATCH;
        } else if (size == -1 && unknown == TN_RANK_MAX) {
            unknown = i;
        } else if (size >= 1 && size <= have / product) {
            product *= out->dims[i] = size;
        } else {
            return false;
        }
    }
    if (batch && (list->count == 0 || out->dims[0] != TN_BATCH)) { return false; }
    if (unknown < TN_RANK_MAX) { product *= out->dims[unknown] = have / product; }
    return product == have;
}

static uint32_t count_of(const struct onnx_integers *list, int64_t size)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) { count += list->at[i] == size; }
    return count;
}

/* With allowzero a 0 is an empty dimension, otherwise that of the input. */
static void build_reshape(struct onnx_call *call)
{
    struct onnx_integers list = {0};
    struct tn_shape shape;
    tn_tensor x = onnx_tensor(call, 0);
    const struct tn_shape from = tn_shape_of(call->graph, x);
    (void)onnx_static_integers(call, 1, &list);
    if (onnx_integer(call, "allowzero", 0) != 0 && count_of(&list, 0) > 0) {
        onnx_refuse(call, "attribute 'allowzero' is not 0, and the shape in input 1 has a 0");
    }
    if (count_of(&list, -1) > 1) {
        onnx_refuse(call, "the shape in input 1 has more than one -1: only one can be computed");
    }
    if (onnx_failed(call->import) || x.v == 0) { return; }
    if (list.count > TN_RANK_MAX || !wanted_shape(call, &from, &list, &shape)) {
        onnx_refuse(call,
                    "the shape in input 1 does not fit, or does not keep the batch in front: the "
                    "other dimensions must have the same product");
        return;
    }
    onnx_put(call, 0, tn_reshape(call->graph, x, shape));
}

/* ------------------------------------------------------------- single dimensions */

static struct onnx_value *static_integers_of(struct onnx_call *call)
{
    struct onnx_value *x = onnx_input(call, 0);
    return x != NULL && x->given.integers != NULL ? x : NULL;
}

static bool contains(const struct onnx_integers *axes, struct onnx_call *call, uint32_t rank,
                     uint32_t axis)
{
    for (uint32_t i = 0; i < axes->count; i++) {
        if (onnx_axis(call, axes->at[i], rank) == axis) { return true; }
    }
    return false;
}

/* Integers of a list or a single one, whatever the axes are. */
static bool reshape_integers(struct onnx_call *call, uint32_t rank)
{
    struct onnx_integers list;
    if (static_integers_of(call) == NULL) { return false; }
    if (!onnx_static_integers(call, 0, &list)) { return true; }
    if (rank == 0 && list.count != 1) {
        onnx_refuse(call, "it makes one integer of %" PRIu32, list.count);
        return true;
    }
    onnx_put_integers(call, &list, rank);
    return true;
}

static void build_unsqueeze(struct onnx_call *call)
{
    struct onnx_integers axes;
    struct tn_shape shape = {0};
    if (!onnx_list(call, "axes", 1, &axes)) { onnx_refuse(call, "'axes' is not given"); }
    if (onnx_failed(call->import) || reshape_integers(call, 1)) { return; }
    tn_tensor x = onnx_tensor(call, 0);
    const struct tn_shape from = tn_shape_of(call->graph, x);
    if (x.v == 0 || from.rank + axes.count > TN_RANK_MAX) {
        onnx_refuse(call, "the result has a rank above %d", TN_RANK_MAX);
        return;
    }
    shape.rank = from.rank + axes.count;
    for (uint32_t i = 0, next = 0; i < shape.rank; i++) {
        const bool added = contains(&axes, call, shape.rank, i);
        if (!added && next == from.rank) {
            onnx_refuse(call, "'axes' names an axis twice: give each once");
            return;
        }
        shape.dims[i] = added ? 1 : from.dims[next++];
    }
    onnx_put(call, 0, tn_reshape(call->graph, x, shape));
}

static void build_squeeze(struct onnx_call *call)
{
    struct onnx_integers axes;
    struct tn_shape shape = {0};
    const bool given = onnx_list(call, "axes", 1, &axes);
    if (onnx_failed(call->import) || reshape_integers(call, 0)) { return; }
    tn_tensor x = onnx_tensor(call, 0);
    const struct tn_shape from = tn_shape_of(call->graph, x);
    for (uint32_t i = 0; i < from.rank; i++) {
        const bool removed = given ? contains(&axes, call, from.rank, i) : from.dims[i] == 1;
        if (removed && from.dims[i] != 1) {
            onnx_refuse(call, "dimension %" PRIu32 " is not 1, so it cannot be removed", i);
        }
        if (!removed) { shape.dims[shape.rank++] = from.dims[i]; }
    }
    onnx_put(call, 0, tn_reshape(call->graph, x, shape));
}

/* Only the order changes. */
static void build_transpose(struct onnx_call *call)
{
    struct onnx_integers perm;
    uint32_t order[TN_RANK_MAX] = {0}, used = 0;
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    if (x == NULL) { return; }
    const bool given = onnx_integers(call, "perm", &perm);
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t axis = given && i < perm.count ? perm.at[i] : (int64_t)x->rank - 1 - i;
        if (axis < 0 || axis >= x->rank || (given && perm.count != x->rank)) {
            onnx_refuse(call, "attribute 'perm' is not an order of %" PRIu32 " axes", x->rank);
            return;
        }
        order[i] = x->order[axis];
        used |= 1U << axis;
    }
    if (used != (1U << x->rank) - 1) {
        onnx_refuse(call, "attribute 'perm' names an axis twice");
        return;
    }
    onnx_put_ordered(call, x->x, order, x->rank);
}

/* The sizes; that of the batch is not known yet. */
static void build_shape(struct onnx_call *call)
{
    struct onnx_value *x = onnx_input(call, 0);
    struct onnx_integers list = {0};
    if (x == NULL) {
        onnx_refuse(call, "input 0 is left out: give it");
        return;
    }
    const struct tn_shape shape = onnx_shape(call->import, x);
    list.count = shape.rank;
    for (uint32_t i = 0; i < shape.rank; i++) {
        list.at[i] = shape.dims[i] == TN_BATCH ? ONNX_BATCH : shape.dims[i];
    }
    onnx_put_integers(call, &list, 1);
}

const struct onnx_operation onnx_shapes[] = {
    {"Flatten", build_flatten, "axis ", 1, 1, NULL, NULL},
    {"Reshape", build_reshape, "allowzero ", 2, 2, NULL, NULL},
    {"Unsqueeze", build_unsqueeze, "axes ", 1, 2, NULL, NULL},
    {"Squeeze", build_squeeze, "axes ", 1, 2, NULL, NULL},
    {"Transpose", build_transpose, "perm ", 1, 1, NULL, NULL},
    {"Shape", build_shape, "", 1, 1, NULL, NULL},
    {NULL, NULL, NULL, 0, 0, NULL, NULL},
};
