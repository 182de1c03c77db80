#include "common/net/frame_reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

enum tn_status frame_reader_init(struct frame_reader *reader, struct buffer_pool *pool,
                                 uint64_t cluster, uint32_t body_max)
{
    assert(pool != NULL && body_max <= WIRE_CHUNK_BYTES);
    *reader = (struct frame_reader){.pool = pool, .cluster = cluster, .body_max = body_max};
    reader->stage = malloc(FRAME_READER_STAGE_BYTES);
    return reader->stage == NULL ? TN_ENOMEM : TN_OK;
}

void frame_reader_reset(struct frame_reader *reader)
{
    buffer_release(reader->body);
    reader->body = NULL;
    reader->in_body = false;
    reader->unproven = false;
    reader->lane = NULL;
    reader->stage_at = 0;
    reader->stage_end = 0;
}

void frame_reader_destroy(struct frame_reader *reader)
{
    frame_reader_reset(reader);
    free(reader->stage);
    reader->stage = NULL;
}

/* The stage then holds less than a header, at its start. */
unsigned frame_reader_space(const struct frame_reader *reader,
                            struct iovec out[static FRAME_READER_SPACES])
{
    unsigned count = 0;
    if (reader->in_body) {
        out[count++] = (struct iovec){
            .iov_base = (char *)reader->body->data + reader->body_have,
            .iov_len = reader->body->size - reader->body_have,
        };
    }
    assert(reader->stage_at == 0 && reader->stage_end < WIRE_HEADER_BYTES);
    out[count++] = (struct iovec){
        .iov_base = reader->stage + reader->stage_end,
        .iov_len = FRAME_READER_STAGE_BYTES - reader->stage_end,
    };
    return count;
}

void frame_reader_received(struct frame_reader *reader, size_t bytes)
{
    assert(reader->stage != NULL);
    if (reader->in_body) {
        size_t missing = reader->body->size - reader->body_have;
        size_t taken = size_min(bytes, missing);
        reader->body_have += taken;
        bytes -= taken;
    }
    reader->stage_end += bytes;
    assert(reader->stage_end <= FRAME_READER_STAGE_BYTES);
}

/* A buffer for at least `bytes` of the body, with the bytes that were received. */
static enum tn_status acquire_body(struct frame_reader *reader, size_t bytes, struct error *error)
{
    assert(bytes > reader->body_have && bytes <= reader->header.body_bytes);
    struct buffer *body = buffer_acquire(reader->pool, bytes);
    if (body == NULL) {
        return error_set(error, TN_ENOMEM,
                         "no buffer for a body of %" PRIu32
                         " bytes: raise the pool's limit or the memory of this host",
                         reader->header.body_bytes);
    }
    body->size = bytes;
    if (reader->body_have > 0) { memcpy(body->data, reader->body->data, reader->body_have); }
    buffer_release(reader->body);
    reader->body = body;
    return TN_OK;
}

/* The body of the frame is complete, in a slot of the lane. */
static enum tn_status take_body(struct frame_reader *reader, struct error *error)
{
    const struct frame_header *header = &reader->header;
    bool valid = false;
    if (reader->lane != NULL) { reader->body = lane_take_body(reader->lane, header, &valid); }
    if (!valid) {
        return error_set(error, TN_EPROTO,
                         "the header names slot %u for %" PRIu32
                         " bytes, which is not possible: a defect, or a hostile peer",
                         header->slot, header->body_bytes);
    }
    if (reader->body == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a frame"); }
    reader->body_have = header->body_bytes;
    return TN_OK;
}

/* Decode the header at the front of the stage and acquire a buffer for its body. */
static enum tn_status begin_frame(struct frame_reader *reader, struct error *error)
{
    assert(!reader->in_body && reader->body == NULL);
    const uint8_t *bytes = reader->stage + reader->stage_at;
    enum tn_status status = wire_decode_header(bytes, reader->body_max, &reader->header, error);
    if (status != TN_OK) { return status; }
    if (reader->header.cluster != reader->cluster) {
        return error_set(error, TN_EPROTO,
                         "the frame belongs to another cluster: check the addresses");
    }
    reader->stage_at += WIRE_HEADER_BYTES;
    reader->body_have = 0;
    if (reader->header.slot != 0) {
        status = take_body(reader, error);
        if (status != TN_OK) { return status; }
    } else if (reader->header.body_bytes > 0) {
        size_t first = reader->unproven ? FRAME_READER_FIRST_BYTES : SIZE_MAX;
        status = acquire_body(reader, size_min(first, reader->header.body_bytes), error);
        if (status != TN_OK) { return status; }
    }
    reader->in_body = true;
    return TN_OK;
}

/* Move bytes from the stage into the body, as far as its buffer reaches. */
static void fill_body(struct frame_reader *reader)
{
    assert(reader->body_have <= reader->header.body_bytes);
    if (reader->body == NULL) { return; }
    size_t missing = reader->body->size - reader->body_have;
    size_t staged = reader->stage_end - reader->stage_at;
    size_t taken = size_min(staged, missing);
    if (taken == 0) { return; }
    memcpy((char *)reader->body->data + reader->body_have, reader->stage + reader->stage_at, taken);
    reader->body_have += taken;
    reader->stage_at += taken;
}

/* Move the bytes that arrived together with the header from the stage into the body, and enlarge
 * its buffer when that is full. */
static enum tn_status continue_body(struct frame_reader *reader, struct error *error)
{
    assert(reader->in_body);
    enum tn_status status = TN_OK;
    fill_body(reader);
    while (status == TN_OK && reader->body_have < reader->header.body_bytes &&
           reader->body_have == reader->body->size) {
        size_t larger = reader->body->size * FRAME_READER_GROWTH;
        status = acquire_body(reader, size_min(larger, reader->header.body_bytes), error);
        if (status == TN_OK) { fill_body(reader); }
    }
    return status;
}

/* No complete frame is left: move the rest to the front. */
static void compact(struct frame_reader *reader)
{
    assert(reader->stage_at <= reader->stage_end);
    size_t left = reader->stage_end - reader->stage_at;
    memmove(reader->stage, reader->stage + reader->stage_at, left);
    reader->stage_at = 0;
    reader->stage_end = left;
}

enum tn_status frame_reader_next(struct frame_reader *reader, bool *complete,
                                 struct frame_header *header, struct buffer **body,
                                 struct error *error)
{
    assert(reader->stage_at <= reader->stage_end && reader->stage_end <= FRAME_READER_STAGE_BYTES);
    *complete = false;
    if (!reader->in_body) {
        if (reader->stage_end - reader->stage_at < WIRE_HEADER_BYTES) {
            compact(reader);
            return TN_OK;
        }
        enum tn_status status = begin_frame(reader, error);
        if (status != TN_OK) { return status; }
    }
    enum tn_status status = continue_body(reader, error);
    if (status != TN_OK) { return status; }
    if (reader->body_have < reader->header.body_bytes) {
        compact(reader);
        return TN_OK;
    }
    const bool streamed = reader->header.slot == 0;
    if (streamed && reader->header.body_bytes > FRAME_READER_FIRST_BYTES) {
        reader->unproven = false;
    }
    *complete = true;
    *header = reader->header;
    *body = reader->body;
    reader->body = NULL;
    reader->in_body = false;
    return TN_OK;
}
