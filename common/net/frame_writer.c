#include "common/net/frame_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

enum { RING_FIRST_CAPACITY = 16 };

/* Double the ring and move the waiting frames to its start. */
static enum tn_status grow(struct frame_writer *writer)
{
    assert(writer->count == writer->capacity);
    uint32_t capacity = writer->capacity == 0 ? RING_FIRST_CAPACITY : 2 * writer->capacity;
    struct queued_body *ring = calloc(capacity, sizeof *ring);
    if (ring == NULL) { return TN_ENOMEM; }
    for (uint32_t i = 0; i < writer->count; i++) {
        ring[i] = writer->ring[(writer->first + i) % writer->capacity];
    }
    free(writer->ring);
    writer->ring = ring;
    writer->capacity = capacity;
    writer->first = 0;
    return TN_OK;
}

enum tn_status frame_writer_push(struct frame_writer *writer, const struct frame_header *header,
                                 struct buffer *body)
{
    assert(header->offset == 0 || body != NULL);
    assert(writer->count <= FRAME_WRITER_FRAMES_MAX);
    if (writer->count == FRAME_WRITER_FRAMES_MAX) { return TN_ETIMEDOUT; }
    if (writer->count == writer->capacity) {
        enum tn_status status = grow(writer);
        if (status != TN_OK) { return status; }
    }
    writer->ring[(writer->first + writer->count) % writer->capacity] =
        (struct queued_body){.header = *header, .body = body};
    writer->count++;
    return TN_OK;
}

/* Where the next chunk of a body begins of which `left` bytes are not in flight yet. */
static size_t next_chunk(const struct queued_body *queued, size_t left)
{
    if (!wire_is_last_first(queued->header.type)) { return queued->taken; }
    return left == 0 ? 0 : (left - 1) / WIRE_CHUNK_BYTES * WIRE_CHUNK_BYTES;
}

/* Whether the body of a frame is an array of numbers, which its receiver only reads. */
static bool may_be_lent(uint8_t type)
{
    return type == FRAME_PUSH || type == FRAME_VALUES;
}

/* The next chunk of the first body that waits. Its last chunk passes its reference on. A chunk in a
 * slot needs none. */
static void take_chunk(struct frame_writer *writer)
{
    assert(writer->count > 0 && writer->flight_count < FRAME_WRITER_FLIGHT_MAX);
    struct queued_body *queued = &writer->ring[writer->first];
    struct flying_frame *frame = &writer->flight[writer->flight_count++];
    const size_t left = queued->body == NULL ? 0 : queued->body->size - queued->taken;
    struct frame_header header = queued->header;
    const size_t from = next_chunk(queued, left);
    const size_t bytes =
        wire_is_last_first(header.type) ? left - from : size_min(left, WIRE_CHUNK_BYTES);
    *frame = (struct flying_frame){.body = queued->body, .from = from, .body_bytes = bytes};
    header.offset += from;
    header.body_bytes = (uint32_t)bytes;
    header.slot = header.line = 0;
    /* The ps never changes values that it has sent. The header has the offset in the whole body. */
    if (writer->lane != NULL && bytes > 0 && header.type == FRAME_VALUES && header.offset == from) {
        header.slot = (uint8_t)lane_lend_body(writer->lane, queued->body, from, bytes);
    }
    if (writer->lane != NULL && header.slot == 0 && bytes > 0 && may_be_lent(header.type)) {
        const char *body = (const char *)queued->body->data + from;
        (void)lane_put_body(writer->lane, &header, body);
    }
    wire_encode_header(&header, frame->header);
    queued->taken += bytes;
    const bool is_last = bytes == left;
    if (header.slot != 0) {
        if (is_last) { buffer_release(queued->body); }
        frame->body = NULL;
        frame->body_bytes = 0;
    } else if (!is_last) {
        buffer_retain(frame->body);
    }
    if (!is_last) { return; }
    writer->first = (writer->first + 1) % writer->capacity;
    writer->count--;
}

static void start_flight(struct frame_writer *writer)
{
    assert(writer->count <= writer->capacity);
    while (writer->count > 0 && writer->flight_count < FRAME_WRITER_FLIGHT_MAX) {
        take_chunk(writer);
    }
}

unsigned frame_writer_gather(struct frame_writer *writer,
                             struct iovec out[static FRAME_WRITER_PIECES])
{
    assert(writer->flight_count <= FRAME_WRITER_FLIGHT_MAX);
    start_flight(writer);
    unsigned pieces = 0;
    size_t skip = writer->sent_bytes;
    for (uint32_t i = 0; i < writer->flight_count; i++) {
        struct flying_frame *frame = &writer->flight[i];
        if (skip < WIRE_HEADER_BYTES) {
            out[pieces++] = (struct iovec){.iov_base = frame->header + skip,
                                           .iov_len = WIRE_HEADER_BYTES - skip};
            skip = 0;
        } else {
            skip -= WIRE_HEADER_BYTES;
        }
        if (frame->body_bytes > 0) {
            out[pieces++] =
                (struct iovec){.iov_base = (char *)frame->body->data + frame->from + skip,
                               .iov_len = frame->body_bytes - skip};
        }
        skip = 0; /* Only the first may be sent in part. */
    }
    return pieces;
}

void frame_writer_sent(struct frame_writer *writer, size_t bytes)
{
    assert(writer->flight_count > 0 || bytes == 0);
    writer->sent_bytes += bytes;
    uint32_t done = 0;
    while (done < writer->flight_count) {
        size_t frame_bytes = WIRE_HEADER_BYTES + writer->flight[done].body_bytes;
        if (writer->sent_bytes < frame_bytes) { break; }
        writer->sent_bytes -= frame_bytes;
        buffer_release(writer->flight[done].body);
        done++;
    }
    writer->flight_count -= done;
    memmove(writer->flight, writer->flight + done, writer->flight_count * sizeof writer->flight[0]);
    assert(writer->flight_count > 0 || writer->sent_bytes == 0);
}

bool frame_writer_empty(const struct frame_writer *writer)
{
    return writer->count == 0 && writer->flight_count == 0;
}

void frame_writer_drop_waiting(struct frame_writer *writer)
{
    while (writer->count > 0) {
        buffer_release(writer->ring[writer->first].body);
        writer->first = (writer->first + 1) % writer->capacity;
        writer->count--;
    }
}

void frame_writer_clear(struct frame_writer *writer)
{
    frame_writer_drop_waiting(writer);
    for (uint32_t i = 0; i < writer->flight_count; i++) { buffer_release(writer->flight[i].body); }
    writer->flight_count = 0;
    writer->sent_bytes = 0;
}

void frame_writer_destroy(struct frame_writer *writer)
{
    frame_writer_clear(writer);
    free(writer->ring);
    *writer = (struct frame_writer){0};
}
