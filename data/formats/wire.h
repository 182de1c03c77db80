/*
 * data/formats/wire.h: fields of a protobuf message, read in place.
 *
 * Every length is checked against the bytes that exist. Groups, which protobuf 3 has not, are
 * refused. Pure. Threads: any.
 */
#ifndef DATA_FORMATS_WIRE_H
#define DATA_FORMATS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* The rest of a message. */
struct wire {
    const uint8_t *at, *end;
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;    /* A number. */
    struct wire bytes; /* Bytes: a text, a message or packed numbers. */
};

static inline size_t wire_size(const struct wire *wire)
{
    return (size_t)(wire->end - wire->at);
}

/* Take a number of 1 to 10 bytes. False: it is cut off or too long. */
bool wire_varint(struct wire *wire, uint64_t *out);

/* Take the next field of a message that has more bytes. False: it is damaged. */
bool wire_next(struct wire *wire, struct wire_field *out);

#endif
