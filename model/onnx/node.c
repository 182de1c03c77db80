#include "model/onnx/node.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"

void onnx_refuse(struct onnx_call *call, const char *format, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) { text[0] = '\0'; }
    va_end(arguments);
    onnx_fail(call->import, TN_EINVAL, "%s", text);
}

/* ------------------------------------------------------------- inputs */

uint32_t onnx_input_count(const struct onnx_call *call)
{
    return (uint32_t)call->node->n_input;
}

struct onnx_value *onnx_input(const struct onnx_call *call, uint32_t index)
{
    if (index >= call->node->n_input || call->node->input[index][0] == '\0') { return NULL; }
    return onnx_find(call->import, call->node->input[index]);
}

/* An input that must be given. */
static struct onnx_value *needed(struct onnx_call *call, uint32_t index)
{
    struct onnx_value *value = onnx_input(call, index);
    if (value == NULL) { onnx_refuse(call, "input %" PRIu32 " is left out: give it", index); }
    return value;
}

tn_tensor onnx_tensor(struct onnx_call *call, uint32_t index)
{
    struct onnx_value *value = needed(call, index);
    return value != NULL ? onnx_plain(call->import, value) : TN_NONE;
}

struct onnx_value *onnx_tensor_any(struct onnx_call *call, uint32_t index)
{
    struct onnx_value *value = needed(call, index);
    if (value != NULL && value->kind != ONNX_TENSOR) { (void)onnx_plain(call->import, value); }
    return onnx_failed(call->import) ? NULL : value;
}

bool onnx_static_integers(struct onnx_call *call, uint32_t index, struct onnx_integers *out)
{
    const struct onnx_value *value = onnx_input(call, index);
    *out = (struct onnx_integers){0};
    if (value == NULL) { return false; }
    const struct onnx_tensor *given = &value->given;
    if (given->integers == NULL || given->count > ONNX_LIST_MAX || given->rank > 1) {
        onnx_refuse(call,
                    "input %" PRIu32 " ('%s') is not a short list of constant integers: export the "
                    "model with fixed shapes (only the batch may vary)",
                    index, value->name);
        return false;
    }
    out->count = (uint32_t)given->count;
    memcpy(out->at, given->integers, (size_t)given->count * sizeof out->at[0]);
    return true;
}

bool onnx_static_number(struct onnx_call *call, uint32_t index, float *out)
{
    const struct onnx_value *value = onnx_input(call, index);
    if (value == NULL) { return false; }
    if (value->given.floats == NULL || value->given.count != 1) {
        onnx_refuse(call, "input %" PRIu32 " ('%s') is not a constant number: make it one", index,
                    value->name);
        return false;
    }
    *out = value->given.floats[0];
    return true;
}

/* ------------------------------------------------------------- attributes */

static const Onnx__AttributeProto *find(struct onnx_call *call, const char *name,
                                        Onnx__AttributeProto__AttributeType type)
{
    for (size_t i = 0; i < call->node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = call->node->attribute[i];
        if (attribute->name == NULL || strcmp(attribute->name, name) != 0) { continue; }
        if (attribute->type == type) { return attribute; }
        onnx_refuse(call, "attribute '%s' has the type %d, not %d: the file is damaged", name,
                    (int)attribute->type, (int)type);
    }
    return NULL;
}

int64_t onnx_integer(struct onnx_call *call, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *found =
        find(call, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    return found != NULL ? found->i : otherwise;
}

float onnx_number(struct onnx_call *call, const char *name, float otherwise)
{
    const Onnx__AttributeProto *found =
        find(call, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    return found != NULL ? found->f : otherwise;
}

bool onnx_integers(struct onnx_call *call, const char *name, struct onnx_integers *out)
{
    const Onnx__AttributeProto *found =
        find(call, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    *out = (struct onnx_integers){0};
    if (found == NULL) { return false; }
    if (found->n_ints > ONNX_LIST_MAX) {
        onnx_refuse(call, "attribute '%s' has %zu numbers: give at most %d", name, found->n_ints,
                    ONNX_LIST_MAX);
        return false;
    }
    out->count = (uint32_t)found->n_ints;
    for (uint32_t i = 0; i < out->count; i++) { out->at[i] = found->ints[i]; }
    return true;
}

void onnx_text(struct onnx_call *call, const char *name, char out[static 32])
{
    const Onnx__AttributeProto *found =
        find(call, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    const size_t size = found != NULL ? found->s.len : 0;
    memset(out, 0, 32);
    if (size >= 32) {
        onnx_refuse(call, "attribute '%s' is too long", name);
    } else if (size > 0) {
        memcpy(out, found->s.data, size);
    }
}

bool onnx_list(struct onnx_call *call, const char *name, uint32_t index, struct onnx_integers *out)
{
    return onnx_integers(call, name, out) || onnx_static_integers(call, index, out);
}

uint32_t onnx_axis(struct onnx_call *call, int64_t axis, uint32_t rank)
{
    const int64_t found = axis < 0 ? axis + rank : axis;
    if (found >= 0 && found < rank) { return (uint32_t)found; }
    onnx_refuse(call, "axis %" PRId64 " of a value of rank %" PRIu32 ": out of range", axis, rank);
    return 0;
}

/* ------------------------------------------------------------- outputs */

uint32_t onnx_output_count(const struct onnx_call *call)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->node->n_output; i++) {
        if (call->node->output[i][0] != '\0') { count = i + 1; }
    }
    return count;
}

static void put(struct onnx_call *call, uint32_t index, struct onnx_value value)
{
    const bool named = index < call->node->n_output && call->node->output[index][0] != '\0';
    if (onnx_failed(call->import) || !named) {
        onnx_tensor_free(&value.given);
        return;
    }
    value.name = call->node->output[index];
    onnx_add(call->import, &value);
}

void onnx_put(struct onnx_call *call, uint32_t index, tn_tensor x)
{
    struct onnx_value value = {.kind = ONNX_TENSOR, .x = x};
    value.rank = tn_shape_of(call->graph, x).rank;
    for (uint32_t i = 0; i < value.rank; i++) { value.order[i] = i; }
    put(call, index, value);
}

void onnx_put_ordered(struct onnx_call *call, tn_tensor x, const uint32_t *order, uint32_t rank)
{
    struct onnx_value value = {.kind = ONNX_TENSOR, .x = x, .rank = rank};
    assert(rank <= TN_RANK_MAX);
    memcpy(value.order, order, rank * sizeof *order);
    put(call, 0, value);
}

void onnx_put_integers(struct onnx_call *call, const struct onnx_integers *list, uint32_t rank)
{
    struct onnx_value value = {.kind = ONNX_STATIC};
    assert(rank == 1 || list->count == 1);
    value.given.owned = calloc(ONNX_LIST_MAX, sizeof *value.given.owned);
    if (value.given.owned == NULL) {
        onnx_fail(call->import, TN_ENOMEM, "out of memory for integers");
        return;
    }
    memcpy(value.given.owned, list->at, list->count * sizeof list->at[0]);
    value.given.rank = rank;
    value.given.dims[0] = rank == 1 ? list->count : 0;
    value.given.count = list->count;
    value.given.integers = value.given.owned;
    put(call, 0, value);
}

void onnx_put_alias(struct onnx_call *call, const struct onnx_value *value)
{
    if (onnx_failed(call->import) || onnx_output_count(call) == 0) { return; }
    onnx_alias(call->import, call->node->output[0], value);
}

void onnx_put_value(struct onnx_call *call, struct onnx_value value)
{
    put(call, 0, value);
}

void onnx_node_name(const struct onnx_call *call, char out[static 32])
{
    (void)snprintf(out, 32, "node%" PRIu32, call->number);
}

void onnx_build_function(struct onnx_call *call)
{
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    if (x == NULL) { return; }
    onnx_put_ordered(call, call->operation->function(call->graph, x->x), x->order, x->rank);
}
