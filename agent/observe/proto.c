#include "agent/observe/proto.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The wire types of fields. */
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

void proto_free(struct proto *proto)
{
    free(proto->at);
    *proto = (struct proto){0};
}

static void put(struct proto *proto, const void *bytes, size_t size)
{
    if (proto->failed || size == 0) { return; }
    if (proto->used + size > proto->size) {
        const size_t wanted = 2 * (proto->used + size) + 64;
        uint8_t *grown = realloc(proto->at, wanted);
        if (grown == NULL) {
            proto->failed = true;
            return;
        }
        proto->at = grown;
        proto->size = wanted;
    }
    memcpy(proto->at + proto->used, bytes, size);
    proto->used += size;
}

static void put_varint(struct proto *proto, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) { bytes[size++] = (uint8_t)(value | 0x80); }
    bytes[size++] = (uint8_t)value;
    put(proto, bytes, size);
}

static void put_key(struct proto *proto, uint32_t field, unsigned type)
{
    assert(field >= 1);
    put_varint(proto, (uint64_t)field << 3 | type);
}

static void put_little(struct proto *proto, uint64_t bits, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) { bytes[i] = (uint8_t)(bits >> (8 * i)); }
    put(proto, bytes, size);
}

void proto_uint(struct proto *proto, uint32_t field, uint64_t value)
{
    put_key(proto, field, WIRE_VARINT);
    put_varint(proto, value);
}

void proto_double(struct proto *proto, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(proto, field, WIRE_64);
    put_little(proto, bits, sizeof bits);
}

void proto_float(struct proto *proto, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(proto, field, WIRE_32);
    put_little(proto, bits, sizeof bits);
}

void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t size)
{
    put_key(proto, field, WIRE_BYTES);
    put_varint(proto, size);
    put(proto, bytes, size);
}

void proto_text(struct proto *proto, uint32_t field, const char *text)
{
    assert(text != NULL);
    proto_bytes(proto, field, text, strlen(text));
}

void proto_message(struct proto *proto, uint32_t field, struct proto *message)
{
    proto->failed = proto->failed || message->failed;
    proto_bytes(proto, field, message->at, message->used);
    proto_free(message);
}
