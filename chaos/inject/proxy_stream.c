#include "chaos/inject/proxy_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

void stream_init(struct stream *stream, uint32_t delay_ms, uint32_t duplicate_percent,
                 uint64_t seed)
{
    assert(duplicate_percent <= 100);
    *stream = (struct stream){.delay_ms = delay_ms,
                              .duplicate_percent = duplicate_percent,
                              .random = {.state = seed},
                              .raw = duplicate_percent == 0};
}

void stream_free(struct stream *stream)
{
    while (stream->first != NULL) {
        struct stream_chunk *next = stream->first->next;
        free(stream->first);
        stream->first = next;
    }
    free(stream->frame);
    stream->frame = NULL;
}

static bool enqueue(struct stream *stream, const uint8_t *bytes, size_t size, uint64_t now_ms)
{
    assert(stream->first != NULL || stream->queued == 0);
    if (size == 0) { return true; }
    struct stream_chunk *chunk = malloc(sizeof *chunk + size);
    if (chunk == NULL) { return false; }
    uint64_t due_ms = now_ms + random_below(&stream->random, (uint64_t)stream->delay_ms + 1);
    if (due_ms < stream->last_due_ms) { due_ms = stream->last_due_ms; /* Keep the order. */ }
    *chunk = (struct stream_chunk){.due_ms = due_ms, .size = size};
    memcpy(chunk->bytes, bytes, size);
    if (stream->first != NULL) {
        stream->last->next = chunk;
    } else {
        stream->first = chunk;
    }
    stream->last = chunk;
    stream->last_due_ms = due_ms;
    stream->queued += size;
    return true;
}

/* ------------------------------------------------------------- frames */

static bool make_room(struct stream *stream, size_t size)
{
    if (stream->frame_room >= size) { return true; }
    uint8_t *frame = realloc(stream->frame, size);
    if (frame == NULL) { return false; }
    stream->frame = frame;
    stream->frame_room = size;
    return true;
}

/* Queue the bytes that were collected, and begin the next frame. */
static bool flush_frame(struct stream *stream, uint64_t now_ms)
{
    size_t have = stream->frame_have;
    stream->frame_have = stream->frame_size = 0;
    return enqueue(stream, stream->frame, have, now_ms);
}

static bool finish_frame(struct stream *stream, uint64_t now_ms)
{
    size_t size = stream->frame_size;
    assert(stream->frame_have == size);
    /* The first frame identifies the sender, and may come only once. */
    bool twice =
        stream->frames++ > 0 && random_below(&stream->random, 100) < stream->duplicate_percent;
    stream->doubled += twice;
    return (!twice || enqueue(stream, stream->frame, size, now_ms)) && flush_frame(stream, now_ms);
}

/* The header is complete: find the size of the frame. Bytes that are not a frame are passed on. */
static bool begin_frame(struct stream *stream, uint64_t now_ms)
{
    struct frame_header header;
    assert(stream->frame_have == WIRE_HEADER_BYTES);
    if (wire_decode_header(stream->frame, WIRE_CHUNK_BYTES, &header, NULL) != TN_OK) {
        stream->raw = true;
        return flush_frame(stream, now_ms);
    }
    stream->frame_size = WIRE_HEADER_BYTES + (size_t)header.body_bytes;
    return true;
}

/* Add some of the bytes to the frame; returns their number. 0: out of memory. */
static size_t collect(struct stream *stream, const uint8_t *bytes, size_t size, uint64_t now_ms)
{
    bool in_body = stream->frame_size > 0;
    size_t wanted = in_body ? stream->frame_size : WIRE_HEADER_BYTES;
    size_t taken = size_min(wanted - stream->frame_have, size);
    if (!make_room(stream, wanted)) { return 0; }
    memcpy(stream->frame + stream->frame_have, bytes, taken);
    stream->frame_have += taken;
    if (!in_body && stream->frame_have == WIRE_HEADER_BYTES && !begin_frame(stream, now_ms)) {
        return 0;
    }
    bool finished = stream->frame_size > 0 && stream->frame_have == stream->frame_size;
    if (finished && !finish_frame(stream, now_ms)) { return 0; }
    return taken;
}

bool stream_put(struct stream *stream, const uint8_t *bytes, size_t size, uint64_t now_ms)
{
    while (size > 0) {
        if (stream->raw) { return enqueue(stream, bytes, size, now_ms); }
        size_t taken = collect(stream, bytes, size, now_ms);
        if (taken == 0) { return false; }
        bytes += taken;
        size -= taken;
    }
    return true;
}

bool stream_end(struct stream *stream, uint64_t now_ms)
{
    return flush_frame(stream, now_ms);
}

/* ------------------------------------------------------------- sending */

size_t stream_due(const struct stream *stream, uint64_t now_ms, const uint8_t **bytes)
{
    const struct stream_chunk *chunk = stream->first;
    if (chunk == NULL || chunk->due_ms > now_ms) { return 0; }
    *bytes = chunk->bytes + chunk->at;
    return chunk->size - chunk->at;
}

void stream_remove(struct stream *stream, size_t size)
{
    struct stream_chunk *chunk = stream->first;
    assert(chunk != NULL && size <= chunk->size - chunk->at);
    chunk->at += size;
    stream->queued -= size;
    if (chunk->at < chunk->size) { return; }
    stream->first = chunk->next;
    free(chunk);
}

uint64_t stream_deadline_ms(const struct stream *stream)
{
    return stream->first != NULL ? stream->first->due_ms : UINT64_MAX;
}
