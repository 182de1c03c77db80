/*
 * Fuzz target: frame headers and streams of frames.
 *
 * A header that decodes encodes to the same bytes. A stream that arrives in pieces gives the same
 * frames as in one piece, and every buffer is released. The first byte of the input selects whether
 * a header with a valid checksum is made from the input, since random ones are all refused.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/net/frame_reader.h"
#include "common/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BODY_MAX = 4096 };

/* A valid header with fields from the input. */
static void seal(const uint8_t *data, uint8_t out[WIRE_HEADER_BYTES])
{
    struct frame_header header = {.type = data[0], .flags = data[1]};
    memcpy(&header.epoch, data + 2, 8);
    memcpy(&header.step, data + 10, 8);
    memcpy(&header.body_bytes, data + 18, 2);
    wire_encode_header(&header, out);
}

static void check_header(const uint8_t *bytes)
{
    struct frame_header header;
    struct error error;
    if (wire_decode_header(bytes, BODY_MAX, &header, &error) != TN_OK) { return; }
    assert(header.body_bytes <= BODY_MAX);
    assert(header.type > 0 && header.type < FRAME_TYPE_END);
    uint8_t again[WIRE_HEADER_BYTES];
    wire_encode_header(&header, again);
    assert(memcmp(bytes, again, sizeof again) == 0);
}

/* Gives the reader `size` bytes in pieces of at most `piece`. Returns a digest of the frames. */
static uint64_t read_stream(struct buffer_pool *pool, const uint8_t *data, size_t size,
                            size_t piece)
{
    struct frame_reader reader;
    uint64_t digest = 0;
    if (frame_reader_init(&reader, pool, 0, BODY_MAX) != TN_OK) { return 0; }
    while (size > 0) {
        struct iovec places[FRAME_READER_SPACES];
        unsigned count = frame_reader_space(&reader, places);
        size_t received = 0;
        for (unsigned i = 0; i < count; i++) {
            size_t taken = size_min(places[i].iov_len, size_min(piece, size) - received);
            memcpy(places[i].iov_base, data + received, taken);
            received += taken;
        }
        data += received;
        size -= received;
        frame_reader_received(&reader, received);
        bool complete = true;
        while (complete) {
            struct frame_header header;
            struct buffer *body = NULL;
            if (frame_reader_next(&reader, &complete, &header, &body, NULL) != TN_OK) {
                frame_reader_destroy(&reader);
                return digest;
            }
            if (!complete) { break; }
            digest = digest * 31 + header.type + header.step + header.body_bytes;
            if (body != NULL) { digest = digest * 31 + ((uint8_t *)body->data)[body->size - 1]; }
            buffer_release(body);
        }
    }
    frame_reader_destroy(&reader);
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buffer_pool *pool;
    if (pool == NULL) { pool = buffer_pool_create(1 << 20); }
    if (pool == NULL || size < WIRE_HEADER_BYTES + 2) { return 0; }
    uint8_t stream[WIRE_HEADER_BYTES + 8192];
    size_t piece = 1 + (size_t)data[1];
    size_t length = size_min(size - 2, sizeof stream);
    memcpy(stream, data + 2, length);
    if (data[0] % 2 == 0) { seal(data + 2, stream); }
    check_header(stream);
    uint64_t whole = read_stream(pool, stream, length, sizeof stream);
    assert(read_stream(pool, stream, length, piece) == whole);
    return 0;
}
