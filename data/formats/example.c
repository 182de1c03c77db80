#include "data/formats/example.h"

#include <assert.h>
#include <string.h>

#include "data/formats/bytes.h"

/* Numbers of fields in example.proto. */
enum { FEATURES = 1, SEQUENCE_LISTS = 2, ENTRY = 1, KEY = 1, FEATURE = 2, VALUES = 1 };

/* Numbers in the field `values`: one, or packed ones. -1: not of this type, or damaged. */
static int64_t count_numbers(const struct wire_field *field, enum example_kind kind)
{
    const enum wire_type single = kind == EXAMPLE_FLOATS ? WIRE_FIXED32 : WIRE_VARINT;
    if (field->type == single) { return 1; }
    if (field->type != WIRE_BYTES) { return -1; }
    if (kind == EXAMPLE_FLOATS) {
        const size_t size = wire_size(&field->bytes);
        return size % sizeof(float) == 0 ? (int64_t)(size / sizeof(float)) : -1;
    }
    int64_t count = 0;
    for (struct wire packed = field->bytes; packed.at < packed.end; count++) {
        uint64_t value;
        if (!wire_varint(&packed, &value)) { return -1; }
    }
    return count;
}

static bool count_values(struct example_feature *feature)
{
    struct wire list = feature->list;
    feature->count = 0;
    while (list.at < list.end) {
        struct wire_field field;
        if (!wire_next(&list, &field)) { return false; }
        if (field.number != VALUES) { continue; }
        int64_t count = 1;
        if (feature->kind != EXAMPLE_BYTES) {
            count = count_numbers(&field, feature->kind);
        } else if (field.type != WIRE_BYTES) {
            count = -1;
        }
        if (count < 0) { return false; }
        feature->count += (uint64_t)count;
    }
    return true;
}

/* A feature holds one list; of several the last one counts. */
static bool read_feature(struct wire message, struct example_feature *out)
{
    while (message.at < message.end) {
        struct wire_field field;
        if (!wire_next(&message, &field)) { return false; }
        if (field.number < 1 || field.number > 3) { continue; }
        if (field.type != WIRE_BYTES) { return false; }
        out->kind = (enum example_kind)field.number;
        out->list = field.bytes;
    }
    return out->kind == EXAMPLE_NONE || count_values(out);
}

static bool read_entry(struct wire entry, struct example_feature *out)
{
    *out = (struct example_feature){.name = ""};
    struct wire feature = {0};
    while (entry.at < entry.end) {
        struct wire_field field;
        if (!wire_next(&entry, &field)) { return false; }
        if (field.number != KEY && field.number != FEATURE) { continue; }
        if (field.type != WIRE_BYTES) { return false; }
        if (field.number == KEY) {
            out->name = (const char *)field.bytes.at;
            out->name_size = wire_size(&field.bytes);
        } else {
            feature = field.bytes;
        }
    }
    return read_feature(feature, out);
}

enum example_result example_next(struct example_cursor *cursor, struct example_feature *out)
{
    for (;;) {
        struct wire_field field;
        if (cursor->features.at < cursor->features.end) {
            if (!wire_next(&cursor->features, &field)) { return EXAMPLE_DAMAGED; }
            if (field.number != ENTRY) { continue; }
            if (field.type != WIRE_BYTES || !read_entry(field.bytes, out)) {
                return EXAMPLE_DAMAGED;
            }
            return EXAMPLE_FEATURE;
        }
        if (cursor->example.at == cursor->example.end) { return EXAMPLE_END; }
        if (!wire_next(&cursor->example, &field)) { return EXAMPLE_DAMAGED; }
        if (field.number == SEQUENCE_LISTS) { return EXAMPLE_SEQUENCE; }
        if (field.number != FEATURES) { continue; }
        if (field.type != WIRE_BYTES) { return EXAMPLE_DAMAGED; }
        cursor->features = field.bytes;
    }
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float *put_floats(const struct wire_field *field, float *out)
{
    if (field->type == WIRE_FIXED32) {
        *out = float_of((uint32_t)field->value);
        return out + 1;
    }
    for (const uint8_t *at = field->bytes.at; at < field->bytes.end; at += sizeof(float)) {
        *out++ = float_of(bytes_u32(at));
    }
    return out;
}

static float *put_integers(const struct wire_field *field, float *out)
{
    if (field->type == WIRE_VARINT) {
        *out = (float)(int64_t)field->value;
        return out + 1;
    }
    uint64_t value;
    for (struct wire packed = field->bytes;
         packed.at < packed.end && wire_varint(&packed, &value);) {
        *out++ = (float)(int64_t)value;
    }
    return out;
}

void example_floats(const struct example_feature *feature, float *out)
{
    assert(feature->kind == EXAMPLE_FLOATS || feature->kind == EXAMPLE_INTEGERS);
    struct wire_field field;
    for (struct wire list = feature->list; list.at < list.end && wire_next(&list, &field);) {
        if (field.number != VALUES) { continue; }
        out = feature->kind == EXAMPLE_FLOATS ? put_floats(&field, out) : put_integers(&field, out);
    }
}

/* The field that holds the first value: it has the wanted number, and is not empty. */
static struct wire_field first_field(const struct example_feature *feature)
{
    assert(feature->count >= 1);
    struct wire_field field = {0};
    for (struct wire list = feature->list; list.at < list.end && wire_next(&list, &field);) {
        if (field.number != VALUES) { continue; }
        const bool empty = field.type == WIRE_BYTES && field.bytes.at == field.bytes.end;
        if (feature->kind == EXAMPLE_BYTES || !empty) { break; }
    }
    return field;
}

double example_number(const struct example_feature *feature)
{
    assert(feature->kind == EXAMPLE_FLOATS || feature->kind == EXAMPLE_INTEGERS);
    struct wire_field field = first_field(feature);
    uint64_t value = field.value;
    if (feature->kind == EXAMPLE_FLOATS) {
        if (field.type == WIRE_BYTES) { value = bytes_u32(field.bytes.at); }
        return (double)float_of((uint32_t)value);
    }
    if (field.type == WIRE_BYTES && !wire_varint(&field.bytes, &value)) { value = 0; }
    return (double)(int64_t)value;
}

struct wire example_bytes(const struct example_feature *feature)
{
    assert(feature->kind == EXAMPLE_BYTES);
    return first_field(feature).bytes;
}
