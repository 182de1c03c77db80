/*
 * Fuzz target: frame headers and streams of frames.
 *
 * A header that decodes encodes to the same bytes. A stream that arrives in pieces gives the same
 * frames and chunks as in one piece, and every buffer is released. The first byte of the input
 * selects whether a header with a valid checksum is made from the input, since random ones are all
 * refused.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/net/chunks.h"
#include "common/net/frame_reader.h"
#include "common/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BODY_MAX = 4096 };

/* A valid header with fields from the input. */
static void seal(const uint8_t *data, uint8_t out[WIRE_HEADER_BYTES])
{
    struct frame_header header = {.type = data[0], .slot = data[1]};
    memcpy(&header.epoch, data + 2, 8);
    memcpy(&header.step, data + 10, 8);
    memcpy(&header.body_bytes, data + 18, 2);
    memcpy(&header.offset, data + 20, 8);
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

/* Whatever the header claims, at most the expected bytes count, and a body is complete exactly when
 * all of them have arrived. Returns what became of the frame. */
static uint64_t follow(struct chunks *chunks, const struct frame_header *header)
{
    enum { TOTAL = 600, CHUNK = 256 };
    enum chunk_kind kind = CHUNK_LAST;
    const char *fault = chunks_fault(chunks, header, TOTAL, CHUNK, &kind);
    assert(chunks->have <= TOTAL);
    assert(!chunks->incomplete || chunks->have % CHUNK == 0);
    if (fault != NULL) { return 7; }
    assert(header->offset + header->body_bytes <= chunks->have);
    assert(kind != CHUNK_LAST || chunks->have == TOTAL);
    return (uint64_t)kind;
}

/* Gives the reader `size` bytes in pieces of at most `piece`. Returns a digest of the frames. */
static uint64_t read_stream(struct buffer_pool *pool, const uint8_t *data, size_t size,
                            size_t piece)
{
    struct frame_reader reader;
    struct chunks chunks = {0};
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
            digest = digest * 31 + header.type + header.step + header.body_bytes + header.offset;
            digest = digest * 31 + follow(&chunks, &header);
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
