/*
 * common/net/lane.h: the memory of a connection whose ends share a host: a ring for each direction,
 * slots for the bodies of frames, and the doorbell of the peer. A stream of bytes in place of the
 * connection's TCP stream, and beside it bodies that the receiver uses where the sender put them.
 *
 * The memory stays mapped as long as a body of either end is in use, also after lane_close() and
 * after the peer's death. The other end never reuses it for another connection: bodies do
 * not change under their user.
 *
 * Threads: one at a time sends and one at a time receives; bodies are released by any. Blocking:
 * never.
 */
#ifndef COMMON_NET_LANE_H
#define COMMON_NET_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/buffer.h"
#include "common/base/doorbell.h"
#include "common/net/loans.h"
#include "common/net/ring.h"
#include "common/net/slots.h"

enum {
    LANE_RING_BYTES = 256 * 1024, /* For each direction: both fit into the cache of a core. */
    LANE_HEADS_BYTES = 4096,      /* The heads of both rings and of the slots, before the bytes. */
    /* Both rings, then the slots of both directions. */
    LANE_BYTES = LANE_HEADS_BYTES + 2 * LANE_RING_BYTES + 2 * SLOTS_BYTES,
};

struct lane_memory; /* Shared by the lane and the bodies in use. */

struct lane {
    struct lane_memory *memory; /* NULL: none. */
    struct ring_producer out;
    struct ring_consumer in;
    struct doorbell_page *peer; /* The peer's doorbell. */
    struct loan_account *loans; /* NULL: this end lends nothing. */
    bool lends;                 /* The peer has mapped what this end lends. */
};

/* Create the memory, for the accepting end; `doorbell_fd` is the peer's. Returns the descriptor of
 * the memory, which the caller sends to the peer and closes; -1 and errno: not possible. */
int lane_create(struct lane *lane, int doorbell_fd);
/* Map the memory that the accepting end has created. False and errno: not possible, EINVAL: it is
 * not a lane of this release. The descriptors stay the caller's. */
bool lane_open(struct lane *lane, int fd, int doorbell_fd);
void lane_close(struct lane *lane); /* Also of a lane that is all zero. */

/* The memory that a lane takes whose bodies have `bytes` bytes: its pages exist once they are
 * used. */
uint64_t lane_used_bytes(uint64_t bytes);

/* Send as much as there is space for, and notify the peer. If not everything was sent, it rings our
 * doorbell when there is space. False: the peer has broken the rings. */
bool lane_send(struct lane *lane, const struct iovec *pieces, unsigned count, size_t *sent);
/* Receive what waits, up to the size of the places. False: the peer has broken the rings. */
bool lane_receive(struct lane *lane, const struct iovec *places, unsigned count, size_t *received);

/* Put the body of a frame into a slot, which its header names then; the frame follows by
 * lane_send(). False: send the body behind the header. */
bool lane_put_body(struct lane *lane, struct frame_header *header, const void *body);
/* A place for a gradient of `bytes` bytes, at line `line` of a page of the shared memory, with one
 * reference: it is written there and then sent without a copy, as often as it has to be. It does
 * not change before its last release, also if the lane closes. NULL: no place is free, or out of
 * memory. */
struct buffer *lane_reserve_body(struct lane *lane, uint32_t line, size_t bytes);
/* The body in the slot that a header names, with one reference, whose release returns the slot.
 * Only read it. `*valid`: whether the peer can have put it there; NULL although it is: out of
 * memory. */
struct buffer *lane_take_body(struct lane *lane, const struct frame_header *header, bool *valid);

/* ---- loans (common/net/loans.h): bodies that the peer uses where they are */

/* The accepting end offers the memory of `loans`, which outlives the lane. Returns the descriptor
 * for the peer, which the caller closes; -1: not possible. */
int lane_offer_loans(struct lane *lane, struct loans *loans);
/* The dialing end maps what its peer offers. False: not possible. */
bool lane_accept_loans(struct lane *lane, int fd, uint64_t offset, uint64_t bytes);
bool lane_can_borrow(const struct lane *lane); /* Whether lane_accept_loans() has succeeded. */
/* Lend a part of a body instead of lane_put_body(). Returns the same; no copy is made. */
unsigned lane_lend_body(struct lane *lane, struct buffer *body, size_t from, size_t bytes);
/* Release the bodies that the peer has returned. From any thread; other calls may be going on. */
void lane_collect_loans(struct lane *lane);

#endif
