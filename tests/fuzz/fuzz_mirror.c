/*
 * Fuzz target: frames of other workers in a run without ps. The first byte chooses the shape of the
 * job, and whether the peer asks or answers; then come frames, each the fields of its header and
 * the bytes of its body. A frame is refused, or it is an event within the shape, and a whole body
 * has the size that follows from the job.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/net/assembly.h"
#include "mirror/frame_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIELDS_BYTES = 40, CHUNK_BYTES = 64 };

/* The fields of a header that a peer chooses. */
static struct frame_header read_header(const uint8_t *data)
{
    struct frame_header header = {.type = data[0], .first = data[1], .count = data[2]};
    memcpy(&header.step, data + 8, sizeof header.step);
    memcpy(&header.sequence, data + 16, sizeof header.sequence);
    memcpy(&header.offset, data + 24, sizeof header.offset);
    memcpy(&header.generation, data + 32, sizeof header.generation);
    header.body_bytes = data[3] % (CHUNK_BYTES + 1);
    return header;
}

static void check_event(const struct frame_codec_shape *shape, const struct replica_event *event)
{
    const bool has_range = event->type == REPLICA_EV_PUSH || event->type == REPLICA_EV_PULL ||
                           event->type == REPLICA_EV_SUM;
    assert(!has_range || event->range < shape->ranges);
    assert(event->type != REPLICA_EV_PUSH ||
           slices_is_node(shape->slices, event->node.first, event->node.count));
    assert(event->type != REPLICA_EV_REFUSED || event->refusal <= REPLICA_GONE);
    assert(event->step <= COUNTER_MAX || event->type == REPLICA_EV_PULL_VALUES);
}

/* False: the connection is closed. */
static bool take(struct assembly *assembly, struct buffer_pool *pool,
                 const struct frame_codec_shape *shape, bool asks,
                 const struct frame_header *header, const uint8_t *bytes)
{
    struct replica_event event;
    struct buffer *whole = NULL, *body = NULL;
    uint64_t total;
    const char *fault = asks ? frame_codec_read_question(shape, header, &event, &total)
                             : frame_codec_read_answer(shape, header, &event, &total);
    if (fault != NULL) { return false; }
    check_event(shape, &event);
    if (header->body_bytes > 0) {
        body = buffer_acquire(pool, header->body_bytes);
        if (body == NULL) { return false; }
        body->size = header->body_bytes;
        memcpy(body->data, bytes, body->size);
    }
    const enum assembly_result result =
        assembly_add(assembly, pool, header, body, total, CHUNK_BYTES, &whole, &fault);
    assert((result == ASSEMBLY_INVALID) == (fault != NULL));
    assert((whole != NULL) == (result == ASSEMBLY_COMPLETE && total > 0));
    assert(whole == NULL || whole->size == total);
    buffer_release(body);
    buffer_release(whole);
    return result != ASSEMBLY_INVALID;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buffer_pool *pool;
    struct placement places[RANGES_MAX];
    if (pool == NULL) { pool = buffer_pool_create(1 << 20); }
    if (pool == NULL || size < 1) { return 0; }
    struct frame_codec_shape shape = {.slices = 1 + data[0] % 7,
                                      .arrays = 1 + data[0] % 3,
                                      .parameters = UINT64_C(16) * (1 + data[0] % 5),
                                      .places = places};
    shape.ranges = ranges_count(1 + data[0] % 4, shape.parameters);
    for (uint32_t r = 0; r < shape.ranges; r++) {
        places[r] = placement_range(shape.parameters, shape.ranges, r);
    }
    const bool asks = data[0] >= 128;
    struct assembly assembly = {.body = NULL};
    bool open = true;
    data++;
    size--;
    while (open && size >= FIELDS_BYTES) {
        const struct frame_header header = read_header(data);
        data += FIELDS_BYTES;
        size -= FIELDS_BYTES;
        if (size < header.body_bytes) { break; }
        open = take(&assembly, pool, &shape, asks, &header, data);
        data += header.body_bytes;
        size -= header.body_bytes;
    }
    assembly_reset(&assembly);
    return 0;
}
