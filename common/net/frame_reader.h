/*
 * common/net/frame_reader.h: decodes frames from a byte stream that arrives in pieces of any size.
 *
 * The owner reads from its stream into the buffers that frame_reader_space() returns, reports the
 * number of bytes, and takes complete frames out until none is left. A large body is read straight
 * into its buffer; only bytes that arrive together with a header are copied, at most
 * FRAME_READER_STAGE_BYTES.
 *
 * A peer that dialed us is `unproven` until it has delivered a body larger than
 * FRAME_READER_FIRST_BYTES: its header alone gets a buffer of that size, which grows eightfold each
 * time that it is full. So a header of 88 bytes allocates nothing of the size of a shard (T7).
 *
 * Threads: one at a time. Blocking: never. Knows no sockets.
 */
#ifndef COMMON_NET_FRAME_READER_H
#define COMMON_NET_FRAME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/net/lane.h"
#include "common/net/wire.h"

enum {
    FRAME_READER_STAGE_BYTES = 32 * 1024,
    FRAME_READER_SPACES = 2,
    FRAME_READER_FIRST_BYTES = 64 * 1024, /* The first buffer of an unproven peer. */
    FRAME_READER_GROWTH = 8,
};

struct frame_reader {
    struct buffer_pool *pool; /* Borrowed: bodies come from it. */
    uint64_t cluster;         /* Frames of other clusters are refused. */
    uint32_t body_max;        /* Bytes. */
    bool unproven;            /* The owner sets this and `lane` after a reset. */
    struct lane *lane;        /* Bodies may be in its slots. NULL: the stream is not a lane. */
    /* Private: */
    uint8_t *stage; /* Bytes [stage_at, stage_end) are received and belong to no body yet. */
    size_t stage_at;
    size_t stage_end;
    bool in_body; /* `header` is decoded, `body` is incomplete. */
    struct frame_header header;
    struct buffer *body; /* Its size is that of the whole body, or less while it grows. */
    size_t body_have;    /* Bytes. */
};

/* TN_ENOMEM. `pool` is borrowed until frame_reader_destroy. */
MUST_CHECK enum tn_status frame_reader_init(struct frame_reader *reader, struct buffer_pool *pool,
                                            uint64_t cluster, uint32_t body_max);

/* Start over with another stream of a proven peer; an incomplete body is released. */
void frame_reader_reset(struct frame_reader *reader);
void frame_reader_destroy(struct frame_reader *reader);

/* Where the next bytes go, in this order; returns the number of buffers, 1 or 2. They stay valid
 * until frame_reader_received(). Call it only after frame_reader_next() found no frame. */
unsigned frame_reader_space(const struct frame_reader *reader,
                            struct iovec out[static FRAME_READER_SPACES]);

/* `bytes` more bytes were stored there. */
void frame_reader_received(struct frame_reader *reader, size_t bytes);

/*
 * Take one frame; `*complete` is whether there was one. The caller owns one reference to
 * `*body`, which is NULL if the frame has none. After an error the stream is unusable: close it.
 *
 *   TN_EPROTO  the header is not valid, of another cluster, or announces too large a body
 *   TN_ENOMEM  the pool has no memory for the body
 */
MUST_CHECK enum tn_status frame_reader_next(struct frame_reader *reader, bool *complete,
                                            struct frame_header *header, struct buffer **body,
                                            struct error *error);

#endif
