/*
 * model/onnx/tensor.h: the values that a file contains: initializers and constants. Private to
 * model/onnx/.
 */
#ifndef MODEL_ONNX_TENSOR_H
#define MODEL_ONNX_TENSOR_H

#include "common/base/error.h"
#include "tanist/tensor.h"

typedef struct Onnx__TensorProto Onnx__TensorProto;

/* Floats or integers; the other pointer is NULL. */
struct onnx_tensor {
    uint32_t rank;
    int64_t dims[TN_RANK_MAX]; /* 0 is allowed: no elements. */
    uint64_t count;
    const float *floats;
    const int64_t *integers;
    int64_t *owned; /* Freed by onnx_tensor_free(); the rest belongs to the message. */
};

/* TN_EINVAL: type, shape and data do not fit, or the type is not supported; the error names the
 * field. TN_ENOMEM. */
MUST_CHECK enum tn_status onnx_tensor_read(const Onnx__TensorProto *proto, struct onnx_tensor *out,
                                           struct error *error);
void onnx_tensor_free(struct onnx_tensor *tensor);

/* "FLOAT16"; "type 99" for unknown numbers, in static storage. */
const char *onnx_type_name(int32_t type);

#endif
