#include "data/formats/wire.h"

#include <assert.h>

#include "data/formats/bytes.h"

bool wire_varint(struct wire *wire, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        const uint8_t byte = *wire->at++;
        if (shift == 63 && byte > 1) { return false; }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool take(struct wire *wire, uint64_t size, const uint8_t **bytes)
{
    if (size > wire_size(wire)) { return false; }
    *bytes = wire->at;
    wire->at += size;
    return true;
}

bool wire_next(struct wire *wire, struct wire_field *out)
{
    assert(wire->at < wire->end);
    uint64_t tag, size;
    const uint8_t *bytes;
    if (!wire_varint(wire, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_C(0x1fffffff)) {
        return false;
    }
    *out = (struct wire_field){.number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7)};
    switch (out->type) {
    case WIRE_VARINT: return wire_varint(wire, &out->value);
    case WIRE_FIXED64:
        if (!take(wire, 8, &bytes)) { return false; }
        out->value = bytes_u64(bytes);
        return true;
    case WIRE_FIXED32:
        if (!take(wire, 4, &bytes)) { return false; }
        out->value = bytes_u32(bytes);
        return true;
    case WIRE_BYTES:
        if (!wire_varint(wire, &size) || !take(wire, size, &bytes)) { return false; }
        out->bytes = (struct wire){.at = bytes, .end = bytes + size};
        return true;
    default: return false;
    }
}
