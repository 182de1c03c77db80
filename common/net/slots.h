/*
 * common/net/slots.h: places for the bodies of frames in memory that two processes share. The
 * sender copies a body into a free slot, and the receiver uses it there and returns the slot, in
 * any order. One slot can be reserved: the sender writes a body in place, which needs no copy, and
 * keeps it there as long as it may have to send it again. Pure.
 *
 * The number of a slot travels in the header of its frame, through the ring of the lane
 * (common/net/ring.h), which orders the body before it. A slot is free if it was returned as often
 * as it was lent, and is not reserved. Each end counts in memory of its own and publishes only the
 * returns, so a sender that dies while it copies leaves a slot that no frame names. The memory that
 * the peer writes is untrusted: a peer can make slots unusable, which only costs the sender a copy
 * through the ring, and can change the contents of a body, which are numbers and are never decoded.
 * It cannot influence an address.
 *
 * Threads: one at a time for each end, but slots may be returned, and a reservation ended, by any.
 */
#ifndef COMMON_NET_SLOTS_H
#define COMMON_NET_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/take_count.h"
#include "common/net/wire.h"

enum {
    SLOTS = 4,                     /* For each direction. */
    SLOT_RESERVABLE = SLOTS - 1,   /* Others are used first. */
    SLOT_BYTES = WIRE_CHUNK_BYTES, /* The largest body of one. */
    SLOT_LEAST_BYTES = 8 * 1024,   /* The smallest: others are copied as fast as they are lent. */
    SLOT_APART_BYTES = SLOT_BYTES + 4096, /* From one slot to the next; see slots_place(). */
    SLOTS_BYTES = SLOTS * SLOT_APART_BYTES,
};

/* The shared counts of one direction; all zero: all slots are free. */
struct slots_shared {
    struct {
        _Alignas(64) _Atomic uint32_t returned; /* How often, modulo 2^32. The receiver's. */
    } slots[SLOTS];
};

struct slots_sender {
    struct slots_shared *shared;
    uint8_t *bytes; /* SLOTS_BYTES. */
    uint32_t lent[SLOTS];
    _Atomic bool reserved; /* Slot SLOT_RESERVABLE is. */
};

struct slots_receiver {
    struct slots_shared *shared;
    uint8_t *bytes; /* SLOTS_BYTES. */
    struct take_count counts[SLOTS];
};

enum { SLOT_LINE_BYTES = 64, SLOT_PAGE_LINES = WIRE_PAGE_LINES };

/* `first` of the header of VALUES: the line of a page to which `offset` belongs, in bytes. */
static inline uint32_t slots_line(uint64_t offset)
{
    return (uint32_t)(offset / SLOT_LINE_BYTES % SLOT_PAGE_LINES);
}

/* Copy the body of a frame into a free slot, whose number, from 1 on, and line become those of the
 * header. A body that was written into the reserved slot is not copied, unless the receiver uses it
 * already. False: no slot is free, or the body is too large or too small for one. */
bool slots_put(struct slots_sender *sender, struct frame_header *header, const void *body);

/* Reserve a slot for a body of `bytes` bytes that begins at line `line` of a page, and that the
 * caller writes there before it sends it; until slots_unreserve() no other body is put there. The
 * receiver may use the body for longer. NULL: the slot is in use or reserved, or the body is
 * too large or too small for one. */
void *slots_reserve(struct slots_sender *sender, uint32_t line, size_t bytes);
void slots_unreserve(struct slots_sender *sender);

/* The body of a frame whose header names the slot; 64-byte aligned. NULL: the sender cannot have
 * put it there. */
void *slots_take(struct slots_receiver *receiver, const struct frame_header *header);
/* The body that was taken from slot `number` is no longer used. */
void slots_return(struct slots_receiver *receiver, unsigned number);

#endif
