#include "common/base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

enum { SPARE = 1024 };

void bytes_put(struct byte_writer *writer, const void *data, size_t size)
{
    assert(data != NULL || size == 0);
    if (writer->failed || size == 0) { return; }
    if (writer->capacity - writer->size < size) {
        const size_t capacity = size_max(2 * writer->capacity, writer->size + size + SPARE);
        uint8_t *grown = realloc(writer->bytes, capacity);
        writer->failed = grown == NULL;
        if (grown == NULL) { return; }
        writer->bytes = grown;
        writer->capacity = capacity;
    }
    memcpy(writer->bytes + writer->size, data, size);
    writer->size += size;
}

void bytes_put_number(struct byte_writer *writer, uint64_t value, size_t size)
{
    uint8_t bytes[sizeof value];
    assert(size <= sizeof bytes);
    for (size_t i = 0; i < size; i++) { bytes[i] = (uint8_t)(value >> (8 * i)); }
    bytes_put(writer, bytes, size);
}

void bytes_put_text(struct byte_writer *writer, const char *text)
{
    const size_t length = text == NULL ? 0 : strlen(text);
    assert(length < BYTES_TEXT_MAX);
    bytes_put_number(writer, length, 1);
    bytes_put(writer, text, length);
}

const uint8_t *bytes_take(struct byte_reader *reader, uint64_t size)
{
    assert(reader->at <= reader->size);
    if (reader->fault != NULL) { return NULL; }
    if (size > reader->size - reader->at) {
        reader->fault = "the bytes end too early";
        return NULL;
    }
    const uint8_t *at = reader->bytes + reader->at;
    reader->at += (size_t)size;
    return at;
}

uint64_t bytes_take_number(struct byte_reader *reader, size_t size)
{
    assert(size <= sizeof(uint64_t));
    const uint8_t *bytes = bytes_take(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; i < size && bytes != NULL; i++) { value |= (uint64_t)bytes[i] << (8 * i); }
    return value;
}

uint64_t bytes_take_count(struct byte_reader *reader, size_t size, uint64_t most, const char *fault)
{
    const uint64_t value = bytes_take_number(reader, size);
    if (value <= most) { return value; }
    reader->fault = fault;
    return 0;
}

void bytes_take_text(struct byte_reader *reader, char *out, size_t size)
{
    assert(size > 0 && size <= BYTES_TEXT_MAX);
    const uint64_t length = bytes_take_count(reader, 1, size - 1, "a text is too long");
    const uint8_t *bytes = bytes_take(reader, length);
    out[0] = '\0';
    if (bytes == NULL || length == 0) { return; }
    for (uint64_t i = 0; i < length; i++) {
        if (bytes[i] >= ' ' && bytes[i] <= '~') { continue; }
        reader->fault = "a text has characters that are not printable";
        return;
    }
    memcpy(out, bytes, (size_t)length);
    out[length] = '\0';
}
