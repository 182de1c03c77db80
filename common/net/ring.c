#include "common/net/ring.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "positions in shared memory need no lock");

/* The pieces as one run of bytes: where the next ones are, and how many lie in one part. */
struct run {
    const struct iovec *pieces;
    unsigned count, at;
    size_t offset;
};

static size_t next_part(struct run *run, uint8_t **place)
{
    while (run->at < run->count && run->offset == run->pieces[run->at].iov_len) {
        run->at++;
        run->offset = 0;
    }
    if (run->at == run->count) { return 0; }
    *place = (uint8_t *)run->pieces[run->at].iov_base + run->offset;
    return run->pieces[run->at].iov_len - run->offset;
}

/* Bytes from `position` on to the place where the ring wraps around. */
static size_t until_end(uint64_t position, uint64_t capacity)
{
    return (size_t)(capacity - (position & (capacity - 1)));
}

/* The free bytes. False: the consumer claims to have read bytes that were never written, or its
 * position went backwards. */
static bool see_space(struct ring_producer *ring, uint64_t *space)
{
    const uint64_t read = atomic_load_explicit(&ring->shared->read, memory_order_acquire);
    const uint64_t unread = ring->written - read;
    *space = 0;
    if (unread > ring->written - ring->read) { return false; }
    ring->read = read;
    *space = ring->capacity - unread;
    return true;
}

bool ring_write(struct ring_producer *ring, const struct iovec *pieces, unsigned count,
                size_t *copied)
{
    assert(ring->shared != NULL && ring->written - ring->read <= ring->capacity);
    struct run run = {.pieces = pieces, .count = count};
    uint64_t space;
    *copied = 0;
    if (!see_space(ring, &space)) { return false; }
    uint64_t published = ring->written;
    while (space > 0) {
        uint8_t *from;
        size_t part = next_part(&run, &from);
        if (part == 0) { break; }
        part = size_min(part, (size_t)space);
        part = size_min(part, until_end(ring->written, ring->capacity));
        part = size_min(part, RING_PIECE_BYTES);
        memcpy(ring->bytes + (ring->written & (ring->capacity - 1)), from, part);
        run.offset += part;
        ring->written += part;
        space -= part;
        *copied += part;
        if (ring->written - published >= RING_PIECE_BYTES) {
            published = ring->written;
            atomic_store_explicit(&ring->shared->written, published, memory_order_release);
        }
    }
    atomic_store(&ring->shared->written, ring->written);
    return true;
}

bool ring_ask_for_space(struct ring_producer *ring)
{
    assert(ring->shared != NULL);
    atomic_store(&ring->shared->full, 1);
    const uint64_t read = atomic_load(&ring->shared->read);
    return ring->written - read <= ring->capacity / 2;
}

bool ring_has_bytes(const struct ring_consumer *ring)
{
    return atomic_load(&ring->shared->written) != ring->read;
}

/* The bytes that wait. False: the producer claims more than fits, or its position went
 * backwards. */
static bool see_bytes(struct ring_consumer *ring, uint64_t *waiting)
{
    const uint64_t written = atomic_load_explicit(&ring->shared->written, memory_order_acquire);
    const uint64_t unread = written - ring->read;
    *waiting = 0;
    if (unread > ring->capacity || unread < ring->written - ring->read) { return false; }
    ring->written = written;
    *waiting = unread;
    return true;
}

bool ring_read(struct ring_consumer *ring, const struct iovec *places, unsigned count,
               size_t *copied)
{
    assert(ring->shared != NULL && ring->written - ring->read <= ring->capacity);
    struct run run = {.pieces = places, .count = count};
    uint64_t waiting;
    *copied = 0;
    if (!see_bytes(ring, &waiting)) { return false; }
    while (waiting > 0) {
        uint8_t *to;
        size_t part = next_part(&run, &to);
        if (part == 0) { break; }
        part = size_min(part, (size_t)waiting);
        part = size_min(part, until_end(ring->read, ring->capacity));
        part = size_min(part, RING_PIECE_BYTES);
        memcpy(to, ring->bytes + (ring->read & (ring->capacity - 1)), part);
        run.offset += part;
        ring->read += part;
        waiting -= part;
        *copied += part;
        atomic_store(&ring->shared->read, ring->read);
    }
    return true;
}

bool ring_takes_space_request(struct ring_consumer *ring)
{
    assert(ring->shared != NULL);
    if (ring->written - ring->read > ring->capacity / 2) { return false; }
    if (atomic_load(&ring->shared->full) == 0) { return false; }
    return atomic_exchange(&ring->shared->full, 0) != 0;
}
