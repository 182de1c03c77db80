/*
 * common/net/frame_writer.h: a queue of frames on their way into a stream that takes as many bytes
 * at a time as it likes.
 *
 * Bodies are sent from where they lie. Several frames go out in one piece, so that a burst of small
 * ones costs one system call.
 *
 * Threads: one at a time. Blocking: never. No sockets here.
 */
#ifndef COMMON_NET_FRAME_WRITER_H
#define COMMON_NET_FRAME_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/net/wire.h"

enum {
    FRAME_WRITER_FRAMES_MAX = 1024, /* Waiting; more means that the peer does not read. */
    FRAME_WRITER_FLIGHT_MAX = 4,
    FRAME_WRITER_PIECES = 2 * FRAME_WRITER_FLIGHT_MAX, /* As many as nng's aio can hold. */
};

struct queued_frame {
    uint8_t header[WIRE_HEADER_BYTES];
    struct buffer *body; /* One reference, or NULL. */
    size_t body_bytes;
};

/* All zero is an empty one. */
struct frame_writer {
    struct queued_frame *ring; /* Waiting: `count` from `first` on. */
    uint32_t capacity;
    uint32_t first;
    uint32_t count;
    struct queued_frame flight[FRAME_WRITER_FLIGHT_MAX]; /* Being sent; these do not move. */
    uint32_t flight_count;
    size_t sent_bytes; /* Of the first in flight. */
};

/*
 * Queue a frame. Takes one reference to `body` (may be NULL) if it succeeds.
 *
 *   TN_ETIMEDOUT  FRAME_WRITER_FRAMES_MAX are waiting
 *   TN_ENOMEM     the queue cannot grow
 */
MUST_CHECK enum tn_status frame_writer_push(struct frame_writer *writer,
                                            const struct frame_header *header, struct buffer *body);

/* The bytes to send next, in this order; the number of pieces is returned, 0 when there is nothing
 * to send. They stay valid until frame_writer_sent or frame_writer_clear. */
unsigned frame_writer_gather(struct frame_writer *writer,
                             struct iovec out[static FRAME_WRITER_PIECES]);

/* The first `bytes` of the pieces are sent: release the bodies that are through. */
void frame_writer_sent(struct frame_writer *writer, size_t bytes);

bool frame_writer_empty(const struct frame_writer *writer);

/* Release what waits; what is in flight stays, for somebody may be reading it. */
void frame_writer_drop_waiting(struct frame_writer *writer);
/* Release everything but the memory of the queue. */
void frame_writer_clear(struct frame_writer *writer);
void frame_writer_destroy(struct frame_writer *writer);

#endif
