/* model/onnx/indexes.c: constants, and parts of values. */
#include <inttypes.h>
#include <string.h>

#include "model/onnx/node.h"
#include "onnx.pb-c.h"

/* ------------------------------------------------------------- Constant */

static void put_tensor(struct onnx_call *call, const Onnx__TensorProto *proto)
{
    struct error error = {.text = ""};
    struct onnx_value value = {.kind = ONNX_STATIC};
    enum tn_status status = onnx_tensor_read(proto, &value.given, &error);
    if (status != TN_OK) {
        onnx_fail(call->import, status, "value.%s", error.text);
    } else {
        onnx_put_value(call, value);
    }
}

static void put_floats(struct onnx_call *call, const float *floats, size_t count, uint32_t rank)
{
    struct onnx_value value = {.kind = ONNX_STATIC};
    value.given = (struct onnx_tensor){
        .rank = rank,
        .dims = {rank == 1 ? (int64_t)count : 0},
        .count = count,
        .floats = floats,
    };
    onnx_put_value(call, value);
}

static void build_constant(struct onnx_call *call)
{
    struct onnx_integers list;
    const Onnx__AttributeProto *attribute =
        call->node->n_attribute == 1 ? call->node->attribute[0] : NULL;
    const char *name = attribute != NULL && attribute->name != NULL ? attribute->name : "";
    if (strcmp(name, "value") == 0 && attribute->t != NULL) {
        put_tensor(call, attribute->t);
    } else if (strcmp(name, "value_float") == 0) {
        put_floats(call, &attribute->f, 1, 0);
    } else if (strcmp(name, "value_floats") == 0 && attribute->n_floats > 0) {
        put_floats(call, attribute->floats, attribute->n_floats, 1);
    } else if (strcmp(name, "value_int") == 0) {
        list = (struct onnx_integers){.count = 1, .at = {attribute->i}};
        onnx_put_integers(call, &list, 0);
    } else if (strcmp(name, "value_ints") == 0 && onnx_integers(call, name, &list)) {
        onnx_put_integers(call, &list, 1);
    } else {
        onnx_refuse(call, "it has no tensor, float or integers: give 'value'");
    }
}

/* ------------------------------------------------------------- Concat */

static bool all_static(struct onnx_call *call)
{
    for (uint32_t i = 0; i < onnx_input_count(call); i++) {
        const struct onnx_value *value = onnx_input(call, i);
        if (value == NULL || value->given.integers == NULL) { return false; }
    }
    return true;
}

static void concat_integers(struct onnx_call *call)
{
    struct onnx_integers all = {0}, part;
    for (uint32_t i = 0; i < onnx_input_count(call); i++) {
        if (!onnx_static_integers(call, i, &part)) { return; }
        if (all.count + part.count > ONNX_LIST_MAX) {
            onnx_refuse(call, "the list has more than %d integers", ONNX_LIST_MAX);
            return;
        }
        memcpy(all.at + all.count, part.at, part.count * sizeof part.at[0]);
        all.count += part.count;
    }
    onnx_put_integers(call, &all, 1);
}

static void build_concat(struct onnx_call *call)
{
    enum { PARTS_MAX = 256 };
    tn_tensor parts[PARTS_MAX] = {0};
    const uint32_t count = onnx_input_count(call);
    if (all_static(call)) {
        concat_integers(call);
        return;
    }
    if (count > PARTS_MAX) {
        onnx_refuse(call, "it has %" PRIu32 " inputs: give at most %d", count, PARTS_MAX);
        return;
    }
    for (uint32_t i = 0; i < count; i++) { parts[i] = onnx_tensor(call, i); }
    if (onnx_failed(call->import)) { return; }
    const uint32_t rank = tn_shape_of(call->graph, parts[0]).rank;
    const uint32_t axis = onnx_axis(call, onnx_integer(call, "axis", 0), rank);
    if (onnx_failed(call->import)) { return; }
    onnx_put(call, 0, tn_concat(call->graph, parts, count, axis));
}

/* ------------------------------------------------------------- Slice, Split */

/* The part of `size` elements that [first, end) means; negative numbers count from the end. */
static bool range_of(int64_t size, int64_t first, int64_t end, int64_t *count, int64_t *from)
{
    if (first < 0) { first = first < -size ? 0 : first + size; }
    if (end < 0) { end = end < -size ? 0 : end + size; }
    if (end > size) { end = size; }
    *from = first;
    *count = end - first;
    return first < end;
}

struct slices {
    struct onnx_integers starts, ends, axes;
};

/* False: an error. */
static bool read_slices(struct onnx_call *call, struct slices *out)
{
    struct onnx_integers steps;
    (void)onnx_static_integers(call, 1, &out->starts);
    (void)onnx_static_integers(call, 2, &out->ends);
    if (!onnx_static_integers(call, 3, &out->axes)) {
        out->axes.count = out->starts.count;
        for (uint32_t i = 0; i < out->starts.count; i++) { out->axes.at[i] = i; }
    }
    const bool stepped = onnx_static_integers(call, 4, &steps);
    for (uint32_t i = 0; stepped && i < steps.count; i++) {
        if (steps.at[i] != 1) { onnx_refuse(call, "a step is not 1: only 1 is supported"); }
    }
    if (out->starts.count != out->ends.count || out->starts.count != out->axes.count) {
        onnx_refuse(call, "starts, ends and axes have different lengths");
    }
    return !onnx_failed(call->import);
}

static void slice_integers(struct onnx_call *call, const struct slices *slices)
{
    struct onnx_integers list, part = {0};
    int64_t count = 0, from = 0;
    if (!onnx_static_integers(call, 0, &list)) { return; }
    if (slices->starts.count != 1 ||
        !range_of(list.count, slices->starts.at[0], slices->ends.at[0], &count, &from)) {
        onnx_refuse(call, "the part of the list is empty");
        return;
    }
    part.count = (uint32_t)count;
    memcpy(part.at, list.at + from, part.count * sizeof part.at[0]);
    onnx_put_integers(call, &part, 1);
}

static void build_slice(struct onnx_call *call)
{
    struct slices slices = {0};
    const struct onnx_value *value = onnx_input(call, 0);
    if (!read_slices(call, &slices)) { return; }
    if (value != NULL && value->given.integers != NULL) {
        slice_integers(call, &slices);
        return;
    }
    tn_tensor x = onnx_tensor(call, 0);
    const struct tn_shape shape = tn_shape_of(call->graph, x);
    for (uint32_t i = 0; i < slices.starts.count && x.v != 0; i++) {
        int64_t count = 0, from = 0;
        const uint32_t axis = onnx_axis(call, slices.axes.at[i], shape.rank);
        if (onnx_failed(call->import)) { return; }
        if (!range_of(shape.dims[axis], slices.starts.at[i], slices.ends.at[i], &count, &from)) {
            onnx_refuse(call, "the part of axis %" PRIu32 " is empty, or is of the batch", axis);
            return;
        }
        if (count < shape.dims[axis]) { x = tn_slice(call->graph, x, axis, from, count); }
    }
    onnx_put(call, 0, x);
}

static void check_parts(struct onnx_call *call, uint32_t parts)
{
    const int64_t stated = onnx_integer(call, "num_outputs", INT64_MIN);
    if (stated == INT64_MIN) { return; }
    if (call->import->opset < 18) {
        onnx_refuse(call, "attribute 'num_outputs' needs opset 18: export the model with it");
    }
    if (stated != parts) {
        onnx_refuse(call, "attribute 'num_outputs' is %" PRId64 ", but the node has %" PRIu32,
                    stated, parts);
    }
}

/* Equal parts, unless `split` has their sizes. */
static void build_split(struct onnx_call *call)
{
    struct onnx_integers sizes;
    tn_tensor x = onnx_tensor(call, 0);
    const uint32_t parts = (uint32_t)call->node->n_output;
    const struct tn_shape shape = tn_shape_of(call->graph, x);
    const bool given = onnx_list(call, "split", 1, &sizes);
    const uint32_t axis = onnx_axis(call, onnx_integer(call, "axis", 0), shape.rank);
    check_parts(call, parts);
    if (onnx_failed(call->import) || parts == 0) { return; }
    if (given ? sizes.count != parts : shape.dims[axis] % parts != 0) {
        onnx_refuse(call, "%" PRIu32 " outputs do not fit the sizes of the parts", parts);
        return;
    }
    for (int64_t p = 0, first = 0; p < parts; p++) {
        const int64_t count = given ? sizes.at[p] : shape.dims[axis] / parts;
        if (count < 1 || count > shape.dims[axis] - first) {
            onnx_refuse(call, "part %" PRId64 " has the size %" PRId64 ": it does not fit", p,
                        count);
            return;
        }
        onnx_put(call, (uint32_t)p, tn_slice(call->graph, x, axis, first, count));
        first += count;
    }
}

/* ------------------------------------------------------------- Gather */

/* The element of `size` that an index means; negative ones count from the end. */
static uint32_t element_of(struct onnx_call *call, int64_t index, int64_t size)
{
    const int64_t found = index < 0 ? index + size : index;
    if (found >= 0 && found < size) { return (uint32_t)found; }
    onnx_refuse(call, "the index in input 1 is %" PRId64 ", but the axis has %" PRId64 " elements",
                index, size);
    return 0;
}

static void gather_integers(struct onnx_call *call)
{
    struct onnx_integers list, at, found = {0};
    const struct onnx_value *indices = onnx_input(call, 1);
    if (!onnx_static_integers(call, 0, &list) || !onnx_static_integers(call, 1, &at)) { return; }
    found.count = at.count;
    for (uint32_t i = 0; i < at.count; i++) {
        found.at[i] = list.at[element_of(call, at.at[i], list.count)];
    }
    if (!onnx_failed(call->import)) { onnx_put_integers(call, &found, indices->given.rank); }
}

/* One element of an axis, which is removed. */
static void gather_one(struct onnx_call *call, int64_t axis, const struct onnx_value *indices)
{
    tn_tensor x = onnx_tensor(call, 0);
    struct tn_shape shape = tn_shape_of(call->graph, x);
    const uint32_t removed = onnx_axis(call, axis, shape.rank);
    if (onnx_failed(call->import)) { return; }
    if (shape.dims[removed] == TN_BATCH) {
        onnx_refuse(call, "it takes one example out of the batch");
        return;
    }
    const uint32_t at = element_of(call, indices->given.integers[0], shape.dims[removed]);
    if (onnx_failed(call->import)) { return; }
    x = tn_slice(call->graph, x, removed, at, 1);
    for (uint32_t i = removed; i + 1 < shape.rank; i++) { shape.dims[i] = shape.dims[i + 1]; }
    shape.dims[--shape.rank] = 0;
    onnx_put(call, 0, tn_reshape(call->graph, x, shape));
}

static void build_gather(struct onnx_call *call)
{
    const struct onnx_value *data = onnx_input(call, 0), *indices = onnx_input(call, 1);
    const int64_t axis = onnx_integer(call, "axis", 0);
    if (data == NULL || indices == NULL) {
        onnx_refuse(call, "an input is left out: give it");
    } else if (data->given.integers != NULL) {
        gather_integers(call);
    } else if (indices->kind == ONNX_STATIC && indices->given.rank == 0 &&
               indices->given.integers != NULL) {
        gather_one(call, axis, indices);
    } else if (indices->kind == ONNX_TENSOR && axis == 0) {
        tn_tensor rows = onnx_tensor(call, 0);
        onnx_put(call, 0, tn_gather(call->graph, rows, onnx_tensor(call, 1)));
    } else {
        onnx_refuse(call, "only rows by ids of the inputs (embeddings), and one constant index, "
                          "are supported");
    }
}

const struct onnx_operation onnx_indexes[] = {
    {"Constant", build_constant, "value value_float value_floats value_int value_ints ", 0, 0, NULL,
     NULL},
    {"Concat", build_concat, "axis ", 1, UINT32_MAX, NULL, NULL},
    {"Slice", build_slice, "", 3, 5, NULL, NULL},
    {"Split", build_split, "axis split num_outputs ", 1, 2, NULL, NULL},
    {"Gather", build_gather, "axis ", 2, 2, NULL, NULL},
    {NULL, NULL, NULL, 0, 0, NULL, NULL},
};
