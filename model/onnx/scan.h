/*
 * model/onnx/scan.h: checks the encoding of a protobuf message before protobuf-c decodes it:
 * protobuf-c gives no place of an error, and its recursion has no bound. Private to model/onnx/.
 *
 * Threads: no state.
 */
#ifndef MODEL_ONNX_SCAN_H
#define MODEL_ONNX_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

enum { ONNX_DEPTH_MAX = 24 /* Messages inside each other; a model needs 6. */ };

/* TN_EINVAL: the bytes are not such a message; the error names the field and its byte. */
MUST_CHECK enum tn_status onnx_scan(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                    size_t size, struct error *error);

#endif
