/*
 * common/net/ring.h: a stream of bytes from one producer to one consumer through memory that both
 * processes can write. Pure.
 *
 * What the peer writes is input: each end keeps its own position in private memory, reads the
 * peer's position once for each call, and checks it before it touches a byte. Bytes are copied out
 * before anything decodes them, so no value is read twice. A peer that dies leaves bytes that are
 * published or not: one release store publishes a piece after it was copied. The last store of a
 * call is sequentially consistent, so that a caller which then looks whether the peer waits, and a
 * peer which announces that it waits and then looks at the ring, cannot miss each other.
 *
 * Threads: one at a time for each end.
 */
#ifndef COMMON_NET_RING_H
#define COMMON_NET_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    RING_PIECE_BYTES = 32 * 1024, /* Published at once, so that the ends copy at the same time. */
};

/* The head of a ring; all zero: empty. Positions count bytes since the beginning. */
struct ring_shared {
    _Alignas(64) _Atomic uint64_t written; /* The producer's position. */
    _Alignas(64) _Atomic uint64_t read;    /* The consumer's position. */
    _Alignas(
        64) _Atomic uint32_t full; /* 1: the producer waits for space. The consumer clears it. */
};

struct ring_producer {
    struct ring_shared *shared;
    uint8_t *bytes;
    uint64_t capacity; /* A power of two. */
    uint64_t written;
    uint64_t read; /* As last seen. */
};

struct ring_consumer {
    struct ring_shared *shared;
    const uint8_t *bytes;
    uint64_t capacity;
    uint64_t read;
    uint64_t written; /* As last seen. */
};

/* Copy as much of the pieces as there is space for, and publish it. False: the consumer has broken
 * the ring. `*copied` is always set. */
bool ring_write(struct ring_producer *ring, const struct iovec *pieces, unsigned count,
                size_t *copied);
/* Ask the consumer for a notice, after a write that did not copy everything. True: there is space
 * by now, so write again. */
bool ring_ask_for_space(struct ring_producer *ring);

/* Whether bytes wait, by the peer's word: ring_read() checks it. */
bool ring_has_bytes(const struct ring_consumer *ring);
/* Copy as many of the bytes that wait as fit into the places. False: the producer has broken the
 * ring. `*copied` is always set. */
bool ring_read(struct ring_consumer *ring, const struct iovec *places, unsigned count,
               size_t *copied);
/* Whether the producer waits for space and at least half of the ring is free: give it notice. */
bool ring_takes_space_request(struct ring_consumer *ring);

#endif
