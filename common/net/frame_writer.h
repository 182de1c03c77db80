/*
 * common/net/frame_writer.h: a queue of bodies with their headers for a stream that accepts any
 * number of bytes at a time.
 *
 * A body longer than WIRE_CHUNK_BYTES is cut into chunks, one frame each, when their turn comes: so
 * it takes one place of the queue, whatever its size. Bodies are sent in place, without a copy; a
 * lane has slots for some of them or lends them, and then the stream has only their headers.
 * Several frames are sent in one piece, so that a burst of small ones costs one system call.
 *
 * Threads: one at a time. Blocking: never. Knows no sockets.
 */
#ifndef COMMON_NET_FRAME_WRITER_H
#define COMMON_NET_FRAME_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/net/lane.h"
#include "common/net/wire.h"

enum {
    FRAME_WRITER_FRAMES_MAX = 1024, /* That wait; more means that the peer does not read. */
    FRAME_WRITER_FLIGHT_MAX = 4,
    FRAME_WRITER_PIECES = 2 * FRAME_WRITER_FLIGHT_MAX, /* The most that an nng aio holds. */
};

/* A frame that waits, or the chunks of a body that are not in flight yet. */
struct queued_body {
    struct frame_header header;
    struct buffer *body;
    size_t taken; /* Bytes of it that are in flight or sent. */
};

struct flying_frame {
    uint8_t header[WIRE_HEADER_BYTES];
    struct buffer *body; /* One reference; the frame has bytes [from, from + body_bytes). */
    size_t from, body_bytes;
};

struct frame_writer {
    struct lane *lane; /* Gradients and values go into its slots; NULL: it is another stream. */
    /* Private: */
    struct queued_body *ring; /* Waiting: `count` from `first` on. */
    uint32_t capacity;
    uint32_t first;
    uint32_t count;
    struct flying_frame flight[FRAME_WRITER_FLIGHT_MAX]; /* Being sent; their addresses stay. */
    uint32_t flight_count;
    size_t sent_bytes; /* Sent bytes of the first frame in flight. */
};

/*
 * Queue a frame, or the chunks of a long body, in the order that wire_is_last_first() names. On
 * success takes one reference to `body`, which may be NULL. `body_bytes` of the header is ignored,
 * and `offset` is that of the body's first byte.
 *
 *   TN_ETIMEDOUT  FRAME_WRITER_FRAMES_MAX bodies wait
 *   TN_ENOMEM     the queue cannot grow
 */
MUST_CHECK enum tn_status frame_writer_push(struct frame_writer *writer,
                                            const struct frame_header *header, struct buffer *body);

/* The bytes to send next, in this order; returns the number of pieces, 0: nothing is left to send.
 * They stay valid until frame_writer_sent() or frame_writer_clear(). */
unsigned frame_writer_gather(struct frame_writer *writer,
                             struct iovec out[static FRAME_WRITER_PIECES]);

/* The first `bytes` bytes of the pieces are sent: release the bodies of complete frames. */
void frame_writer_sent(struct frame_writer *writer, size_t bytes);

bool frame_writer_empty(const struct frame_writer *writer);

/* Release the waiting frames. Those in flight stay, as the stream may be reading them. */
void frame_writer_drop_waiting(struct frame_writer *writer);
/* Release all frames, but keep the memory of the queue. */
void frame_writer_clear(struct frame_writer *writer);
void frame_writer_destroy(struct frame_writer *writer);

#endif
