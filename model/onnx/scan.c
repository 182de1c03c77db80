#include "model/onnx/scan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64BIT = 1, WIRE_BYTES = 2, WIRE_32BIT = 5, PATH_MAX_BYTES = 256 };

struct scan {
    const uint8_t *bytes;
    size_t at, end; /* `end` is that of the message that is being read. */
    uint32_t depth;
    char path[PATH_MAX_BYTES]; /* "graph.node.attribute" */
    struct error *error;
};

static enum tn_status refuse(const struct scan *scan, const char *what)
{
    return error_set(scan->error, TN_EINVAL,
                     "byte %zu, field %s: %s: the file is damaged, or not an ONNX model", scan->at,
                     scan->path[0] == '\0' ? "(none)" : scan->path, what);
}

static bool read_varint(struct scan *scan, uint64_t *out)
{
    *out = 0;
    for (uint32_t shift = 0; shift < 64 && scan->at < scan->end; shift += 7) {
        const uint8_t byte = scan->bytes[scan->at++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) { return true; }
    }
    return false;
}

static uint32_t wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return WIRE_32BIT;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return WIRE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
    default: return WIRE_VARINT;
    }
}

/* Numbers may also come packed, as bytes. An unknown field may have any type. */
static bool wire_fits(const ProtobufCFieldDescriptor *field, uint32_t wire)
{
    if (field == NULL) { return true; }
    const uint32_t wanted = wire_of(field->type);
    return wire == wanted || (wire == WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED);
}

/* Advance behind a value. `*size`: that of bytes, which are not skipped; else 0. */
static enum tn_status read_value(struct scan *scan, uint32_t wire, size_t *size)
{
    uint64_t number = 0;
    *size = 0;
    switch (wire) {
    case WIRE_VARINT:
        if (!read_varint(scan, &number)) { return refuse(scan, "a number is cut off"); }
        return TN_OK;
    case WIRE_64BIT: number = 8; break;
    case WIRE_32BIT: number = 4; break;
    case WIRE_BYTES:
        if (!read_varint(scan, &number)) { return refuse(scan, "a length is cut off"); }
        break;
    default: return refuse(scan, "the wire type is unknown");
    }
    if (number > scan->end - scan->at) { return refuse(scan, "the value is longer than the rest"); }
    if (wire == WIRE_BYTES) {
        *size = (size_t)number;
    } else {
        scan->at += (size_t)number;
    }
    return TN_OK;
}

static enum tn_status scan_message(struct scan *scan, const ProtobufCMessageDescriptor *type);

static enum tn_status scan_inner(struct scan *scan, const ProtobufCMessageDescriptor *type,
                                 size_t size)
{
    const size_t end = scan->end;
    if (scan->depth == ONNX_DEPTH_MAX) { return refuse(scan, "messages are nested too deep"); }
    scan->depth++;
    scan->end = scan->at + size;
    enum tn_status status = scan_message(scan, type);
    scan->end = end;
    scan->depth--;
    return status;
}

static enum tn_status scan_field(struct scan *scan, const ProtobufCMessageDescriptor *type)
{
    uint64_t key = 0;
    size_t size = 0;
    const size_t used = strlen(scan->path);
    if (!read_varint(scan, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3) {
        return refuse(scan, "the key of a field is not valid");
    }
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
    (void)snprintf(scan->path + used, sizeof scan->path - used, "%s%s", used > 0 ? "." : "",
                   field != NULL ? field->name : "(unknown)");
    const uint32_t wire = (uint32_t)(key & 7);
    if (!wire_fits(field, wire)) { return refuse(scan, "the value has the type of another field"); }
    enum tn_status status = read_value(scan, wire, &size);
    if (status != TN_OK) { return status; }
    if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE) {
        status = scan_inner(scan, field->descriptor, size);
    } else {
        scan->at += size;
    }
    if (status == TN_OK) { scan->path[used] = '\0'; }
    return status;
}

/* To the end of the message. */
static enum tn_status scan_message(struct scan *scan, const ProtobufCMessageDescriptor *type)
{
    enum tn_status status = TN_OK;
    assert(type != NULL && scan->depth <= ONNX_DEPTH_MAX);
    while (status == TN_OK && scan->at < scan->end) { status = scan_field(scan, type); }
    return status;
}

enum tn_status onnx_scan(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size,
                         struct error *error)
{
    assert(bytes != NULL || size == 0);
    struct scan scan = {.bytes = bytes, .end = size, .error = error};
    return scan_message(&scan, type);
}
