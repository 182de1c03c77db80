/*
 * Fuzz target: what a peer may write into the shared memory of a lane. The input is a list of
 * actions of a hostile producer and consumer, which set positions and bytes; meanwhile both ends
 * read and write. They touch no byte beside the ring, see no more than its capacity at a time, and
 * decode what they read as frames.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/net/frame_reader.h"
#include "common/net/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CAPACITY = 256, GUARD = 64, ACTION_BYTES = 10 };

static struct {
    struct ring_shared shared;
    uint8_t before[GUARD], bytes[CAPACITY], after[GUARD];
} memory;

static bool read_frames(struct ring_consumer *ring, struct frame_reader *reader)
{
    struct iovec places[FRAME_READER_SPACES];
    size_t received;
    const unsigned count = frame_reader_space(reader, places);
    if (!ring_read(ring, places, count, &received)) { return false; }
    assert(received <= CAPACITY);
    (void)ring_takes_space_request(ring);
    frame_reader_received(reader, received);
    for (bool complete = true; complete;) {
        struct frame_header header;
        struct buffer *body = NULL;
        if (frame_reader_next(reader, &complete, &header, &body, NULL) != TN_OK) { return false; }
        if (complete) { buffer_release(body); }
    }
    return true;
}

static bool write_bytes(struct ring_producer *ring, const uint8_t *bytes, size_t size)
{
    const struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    size_t sent;
    if (!ring_write(ring, &piece, 1, &sent)) { return false; }
    assert(sent <= size && sent <= CAPACITY);
    if (sent < size) { (void)ring_ask_for_space(ring); }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buffer_pool *pool;
    if (pool == NULL) { pool = buffer_pool_create(1 << 20); }
    struct frame_reader reader;
    if (pool == NULL || frame_reader_init(&reader, pool, 0, 4096) != TN_OK) { return 0; }
    memset(&memory, 0, sizeof memory);
    struct ring_consumer in = {
        .shared = &memory.shared, .bytes = memory.bytes, .capacity = CAPACITY};
    struct ring_producer out = {
        .shared = &memory.shared, .bytes = memory.bytes, .capacity = CAPACITY};
    for (bool valid = true; valid && size >= ACTION_BYTES; data += ACTION_BYTES) {
        uint64_t value;
        memcpy(&value, data + 1, sizeof value);
        size -= ACTION_BYTES;
        switch (data[0] % 6) {
        case 0: atomic_store(&memory.shared.written, data[9] % 2 ? value : value % CAPACITY); break;
        case 1: atomic_store(&memory.shared.read, data[9] % 2 ? value : value % CAPACITY); break;
        case 2: memory.bytes[value % CAPACITY] = data[9]; break;
        case 3: memcpy(memory.bytes, data, size_min(size, CAPACITY)); break;
        case 4: valid = read_frames(&in, &reader); break;
        case 5: valid = write_bytes(&out, data, size); break;
        }
    }
    for (unsigned i = 0; i < GUARD; i++) { assert(memory.before[i] == 0 && memory.after[i] == 0); }
    frame_reader_destroy(&reader);
    return 0;
}
