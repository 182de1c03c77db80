#include "model/onnx/value.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/cluster/variables.h"

enum tn_status onnx_values_open(struct onnx_import *import, size_t capacity, struct error *error)
{
    assert(import != NULL);
    uint32_t slots = 16;
    while (slots < 4 * capacity && slots < UINT32_MAX / 2) { slots *= 2; }
    import->capacity = (uint32_t)capacity;
    import->slots = slots;
    import->values = calloc(capacity + 1, sizeof *import->values);
    import->names = calloc(slots, sizeof *import->names);
    if (import->values != NULL && import->names != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for %zu values", capacity);
}

void onnx_values_close(struct onnx_import *import)
{
    for (uint32_t i = 0; i < import->count; i++) { onnx_tensor_free(&import->values[i].given); }
    free(import->values);
    free(import->names);
}

void onnx_fail(struct onnx_import *import, enum tn_status status, const char *format, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list arguments;
    assert(status != TN_OK);
    if (onnx_failed(import)) { return; }
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) { text[0] = '\0'; }
    va_end(arguments);
    (void)error_set(&import->error, status, "%s", text);
}

/* The slot of a name, or the empty one where it belongs. */
static struct onnx_name *slot_of(const struct onnx_import *import, const char *name)
{
    uint32_t at = (uint32_t)digest_of(name, strlen(name)).low & (import->slots - 1);
    while (import->names[at].name != NULL && strcmp(import->names[at].name, name) != 0) {
        at = (at + 1) & (import->slots - 1);
    }
    return &import->names[at];
}

struct onnx_value *onnx_find(const struct onnx_import *import, const char *name)
{
    const struct onnx_name *slot = slot_of(import, name);
    return slot->name != NULL ? &import->values[slot->value] : NULL;
}

void onnx_alias(struct onnx_import *import, const char *name, const struct onnx_value *value)
{
    struct onnx_name *slot = slot_of(import, name);
    if (slot->name != NULL) {
        onnx_fail(import, TN_EINVAL, "the value '%s' is defined twice: the file is damaged", name);
        return;
    }
    *slot = (struct onnx_name){name, (uint32_t)(value - import->values)};
}

void onnx_add(struct onnx_import *import, const struct onnx_value *value)
{
    assert(value->name != NULL && import->count < import->capacity);
    import->values[import->count] = *value;
    onnx_alias(import, value->name, &import->values[import->count]);
    import->count++;
}

/* ------------------------------------------------------------- given values */

static struct tn_shape shape_of_given(const struct onnx_tensor *given)
{
    struct tn_shape shape = {.rank = given->rank};
    memcpy(shape.dims, given->dims, sizeof shape.dims);
    return shape;
}

/* `values` with the dimensions axes[0], axes[1], ... of the tensor. */
static void transpose(const struct onnx_tensor *tensor, const uint32_t *axes, float *out)
{
    int64_t strides[TN_RANK_MAX] = {0}, index[TN_RANK_MAX] = {0}, step = 1, at = 0;
    for (uint32_t d = tensor->rank; d-- > 0;) {
        strides[d] = step;
        step *= tensor->dims[d];
    }
    for (uint64_t i = 0; i < tensor->count; i++) {
        out[i] = tensor->floats[at];
        for (uint32_t j = tensor->rank; j-- > 0;) {
            const uint32_t axis = axes[j];
            at += strides[axis];
            if (++index[j] < tensor->dims[axis]) { break; }
            at -= index[j] * strides[axis];
            index[j] = 0;
        }
    }
}

/* A valid name of a variable: "conv1.weight"; of a long name the end. */
static void name_variable(const struct onnx_import *import, const struct onnx_value *value,
                          char out[static VARIABLE_NAME_MAX])
{
    static const char valid[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    enum { NUMBER_MAX = 12, NAME_MAX = VARIABLE_NAME_MAX - NUMBER_MAX };
    const char *from = value->name + strspn(value->name, "/");
    const size_t length = strlen(from);
    const bool is_long = length >= NAME_MAX;
    if (is_long) { from += length - (NAME_MAX - 1); }
    int used = snprintf(out, VARIABLE_NAME_MAX, "%s", from[0] != '\0' ? from : "value");
    for (int i = 0; i < used; i++) {
        if (out[i] == '/') { out[i] = '.'; }
        if (strchr(valid, out[i]) == NULL) { out[i] = '_'; }
    }
    if (!is_long) { return; }
    (void)snprintf(out + used, NUMBER_MAX, ".%u", (unsigned)(value - import->values));
}

static bool is_frozen(struct onnx_import *import, const char *name)
{
    bool frozen = false;
    for (uint32_t i = 0; i < import->job->model.freeze_count; i++) {
        if (fnmatch(import->job->model.freeze[i], name, 0) != 0) { continue; }
        import->frozen[i] = true;
        frozen = true;
    }
    return frozen;
}

static void become(struct onnx_value *value, tn_tensor x, const uint32_t *axes)
{
    value->kind = ONNX_TENSOR;
    value->x = x;
    value->rank = value->given.rank;
    for (uint32_t j = 0; j < value->rank; j++) { value->order[axes[j]] = j; }
}

static void make_variable(struct onnx_import *import, struct onnx_value *value,
                          const uint32_t *axes)
{
    char name[VARIABLE_NAME_MAX];
    const struct onnx_tensor *given = &value->given;
    struct tn_shape shape = {.rank = given->rank};
    float *values = malloc((size_t)given->count * sizeof *values + 1);
    if (values == NULL) {
        onnx_fail(import, TN_ENOMEM, "out of memory for '%s'", value->name);
        return;
    }
    for (uint32_t j = 0; j < shape.rank; j++) { shape.dims[j] = given->dims[axes[j]]; }
    transpose(given, axes, values);
    name_variable(import, value, name);
    const struct tn_variable_options options = {
        .init = TN_INIT_VALUES,
        .update = is_frozen(import, name) ? TN_UPDATE_NEVER : TN_UPDATE_OPTIMIZER,
        .values = values,
    };
    become(value, tn_variable(import->graph, name, shape, &options), axes);
    free(values);
}

static void make_constant(struct onnx_import *import, struct onnx_value *value)
{
    static const uint32_t plain[TN_RANK_MAX] = {0, 1, 2, 3, 4, 5};
    struct onnx_tensor *given = &value->given;
    const struct tn_view view = {
        .type = TN_FLOAT32,
        .shape = shape_of_given(given),
        .data = (void *)(uintptr_t)given->floats,
    };
    if (given->floats == NULL) {
        onnx_fail(import, TN_EINVAL,
                  "'%s' has integers where the operation computes with floats: export the model "
                  "in float32",
                  value->name);
        return;
    }
    become(value, tn_constant(import->graph, view), plain);
}

/* ------------------------------------------------------------- tensors */

tn_tensor onnx_permuted(struct onnx_import *import, struct onnx_value *value, const uint32_t *axes,
                        uint32_t count)
{
    uint32_t order[TN_RANK_MAX] = {0};
    bool same = true;
    if (onnx_failed(import)) { return TN_NONE; }
    if (value->kind == ONNX_INITIALIZER) { make_variable(import, value, axes); }
    if (value->kind == ONNX_STATIC) { make_constant(import, value); }
    if (onnx_failed(import)) { return TN_NONE; }
    assert(count == value->rank);
    for (uint32_t j = 0; j < count; j++) {
        order[j] = value->order[axes[j]];
        same = same && order[j] == j;
    }
    return same ? value->x : tn_permute(import->graph, value->x, order, count);
}

tn_tensor onnx_plain(struct onnx_import *import, struct onnx_value *value)
{
    static const uint32_t plain[TN_RANK_MAX] = {0, 1, 2, 3, 4, 5};
    return onnx_permuted(import, value, plain, onnx_shape(import, value).rank);
}

struct tn_shape onnx_shape(const struct onnx_import *import, const struct onnx_value *value)
{
    if (value->kind != ONNX_TENSOR) { return shape_of_given(&value->given); }
    const struct tn_shape shape = tn_shape_of(import->graph, value->x);
    struct tn_shape result = {.rank = value->rank};
    for (uint32_t i = 0; i < value->rank; i++) { result.dims[i] = shape.dims[value->order[i]]; }
    return result;
}
