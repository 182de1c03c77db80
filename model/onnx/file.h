/*
 * model/onnx/file.h: an ONNX file, read and decoded within bounds. protobuf-c and the code that
 * protoc-c makes of Debian's onnx.proto are known only in model/onnx/.
 *
 * Threads: a file belongs to one thread at a time. Blocking: on the disk.
 */
#ifndef MODEL_ONNX_FILE_H
#define MODEL_ONNX_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
    ONNX_FILE_MAX = 512 << 20,
    ONNX_OPSET_LEAST = 11,
    ONNX_OPSET_MOST = 23,
    ONNX_NODES_MAX = 1 << 14,
};

typedef struct Onnx__ModelProto Onnx__ModelProto;

struct onnx_file {
    Onnx__ModelProto *proto; /* Has a graph with nodes. */
    int64_t opset;
    size_t budget; /* Bytes that decoding may still allocate. */
};

/*
 * Read and decode a file.
 *
 *   TN_ENOENT, TN_EIO, TN_ENOMEM
 *   TN_EINVAL  not a regular file, too large, malformed, or of a kind that cannot be
 *              imported; the error names the file, the field and the remedy
 */
MUST_CHECK enum tn_status onnx_file_open(const char *path, struct onnx_file *out,
                                         struct error *error);

/* Decode a file in memory; errors contain no name. */
MUST_CHECK enum tn_status onnx_file_decode(const uint8_t *bytes, size_t size, struct onnx_file *out,
                                           struct error *error);
void onnx_file_close(struct onnx_file *file); /* A file of zeros is allowed. */

#endif
