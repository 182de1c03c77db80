#include "model/onnx/tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"

#define ELEMENTS_MAX (INT64_C(1) << 40)

const char *onnx_type_name(int32_t type)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&onnx__tensor_proto__data_type__descriptor, type);
    return value != NULL ? value->name : "of an unknown type";
}

static enum tn_status read_shape(const Onnx__TensorProto *proto, struct onnx_tensor *out,
                                 struct error *error)
{
    if (proto->n_dims > TN_RANK_MAX) {
        return error_set(error, TN_EINVAL, "dims: rank %zu: at most %d is supported", proto->n_dims,
                         TN_RANK_MAX);
    }
    out->rank = (uint32_t)proto->n_dims;
    out->count = 1;
    for (uint32_t d = 0; d < out->rank; d++) {
        const int64_t size = proto->dims[d];
        if (size < 0 || size > ELEMENTS_MAX) {
            return error_set(error, TN_EINVAL, "dims[%" PRIu32 "] is %" PRId64 ": out of range", d,
                             size);
        }
        if (size > 0 && out->count > (uint64_t)ELEMENTS_MAX / (uint64_t)size) {
            return error_set(error, TN_EINVAL,
                             "dims[%" PRIu32 "] is %" PRId64 ", which makes more than %" PRId64
                             " elements: the file is damaged",
                             d, size, ELEMENTS_MAX);
        }
        out->dims[d] = size;
        out->count *= (uint64_t)size;
    }
    return TN_OK;
}

static enum tn_status check_count(const char *field, uint64_t found, uint64_t wanted,
                                  struct error *error)
{
    if (found == wanted) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s has %" PRIu64 " elements, but by dims it has %" PRIu64
                     ": the file is damaged",
                     field, found, wanted);
}

static enum tn_status check_raw(const Onnx__TensorProto *proto, uint64_t count, size_t size,
                                struct error *error)
{
    return check_count("raw_data, in bytes,", proto->raw_data.len, count * size, error);
}

/* The data of a message are allocated, so they are aligned; ONNX and all supported machines have
 * the low byte first. */
static enum tn_status read_floats(const Onnx__TensorProto *proto, struct onnx_tensor *out,
                                  struct error *error)
{
    static const float none[1];
    enum tn_status status = TN_OK;
    if (proto->has_raw_data) {
        status = check_raw(proto, out->count, sizeof(float), error);
        out->floats = (const float *)(const void *)proto->raw_data.data;
    } else {
        status = check_count("float_data", proto->n_float_data, out->count, error);
        out->floats = proto->float_data;
    }
    if (out->count == 0) { out->floats = none; }
    return status;
}

static enum tn_status read_int64(const Onnx__TensorProto *proto, struct onnx_tensor *out,
                                 struct error *error)
{
    static const int64_t none[1];
    enum tn_status status = TN_OK;
    if (proto->has_raw_data) {
        status = check_raw(proto, out->count, sizeof(int64_t), error);
        out->integers = (const int64_t *)(const void *)proto->raw_data.data;
    } else {
        status = check_count("int64_data", proto->n_int64_data, out->count, error);
        out->integers = proto->int64_data;
    }
    if (out->count == 0) { out->integers = none; }
    return status;
}

/* int32, and bool, which has a byte for each element. */
static enum tn_status read_small(const Onnx__TensorProto *proto, size_t size,
                                 struct onnx_tensor *out, struct error *error)
{
    enum tn_status status = proto->has_raw_data
                                ? check_raw(proto, out->count, size, error)
                                : check_count("int32_data", proto->n_int32_data, out->count, error);
    if (status != TN_OK) { return status; }
    out->owned = calloc((size_t)out->count + 1, sizeof *out->owned);
    if (out->owned == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for %" PRIu64 " integers", out->count);
    }
    for (uint64_t i = 0; i < out->count; i++) {
        int32_t value = 0;
        if (!proto->has_raw_data) {
            value = proto->int32_data[i];
        } else if (size == 1) {
            value = proto->raw_data.data[i];
        } else {
            memcpy(&value, proto->raw_data.data + i * size, size);
        }
        out->owned[i] = value;
    }
    out->integers = out->owned;
    return TN_OK;
}

static bool has_data_twice(const Onnx__TensorProto *proto)
{
    return proto->has_raw_data &&
           (proto->n_float_data > 0 || proto->n_int32_data > 0 || proto->n_int64_data > 0);
}

enum tn_status onnx_tensor_read(const Onnx__TensorProto *proto, struct onnx_tensor *out,
                                struct error *error)
{
    assert(proto != NULL && out != NULL);
    *out = (struct onnx_tensor){0};
    enum tn_status status = read_shape(proto, out, error);
    if (status != TN_OK) { return status; }
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL ||
        proto->n_external_data > 0) {
        return error_set(error, TN_EINVAL,
                         "external_data: the values are in another file: save the model as one "
                         "file (onnx.save(model, path, save_as_external_data=False))");
    }
    if (has_data_twice(proto)) {
        return error_set(error, TN_EINVAL,
                         "the values are in raw_data and in another field: the file is damaged");
    }
    switch (proto->data_type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT: return read_floats(proto, out, error);
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64: return read_int64(proto, out, error);
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
        return read_small(proto, sizeof(int32_t), out, error);
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL: return read_small(proto, 1, out, error);
    default: break;
    }
    return error_set(error, TN_EINVAL,
                     "data_type is %" PRId32 " (%s): only FLOAT, INT64, INT32 and BOOL are "
                     "supported: export the model in float32",
                     proto->data_type, onnx_type_name(proto->data_type));
}

void onnx_tensor_free(struct onnx_tensor *tensor)
{
    free(tensor->owned);
    *tensor = (struct onnx_tensor){0};
}
