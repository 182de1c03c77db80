/*
 * common/net/frame_reader.h: frames out of a stream of bytes that arrives in pieces of any size.
 *
 * The owner reads from its stream into the places `frame_reader_space` names, reports how much
 * came, and takes whole frames out until there is none. A large body is read straight into its
 * buffer; only what came in one piece with a header is copied, at most FRAME_READER_STAGE_BYTES.
 *
 * Threads: one at a time. Blocking: never. No sockets here.
 */
#ifndef COMMON_NET_FRAME_READER_H
#define COMMON_NET_FRAME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/net/wire.h"

enum { FRAME_READER_STAGE_BYTES = 32 * 1024, FRAME_READER_SPACES = 2 };

struct frame_reader {
    struct buffer_pool *pool; /* Borrowed: bodies come from it. */
    uint64_t cluster;         /* Frames of another are refused. */
    uint32_t body_max;        /* Bytes. */
    /* Private: */
    uint8_t *stage; /* Bytes [stage_at, stage_end) came and belong to no body yet. */
    size_t stage_at;
    size_t stage_end;
    bool in_body; /* `header` is decoded and `body` is not whole yet. */
    struct frame_header header;
    struct buffer *body;
    size_t body_have; /* Bytes. */
};

/* TN_ENOMEM. `pool` is borrowed until frame_reader_destroy. */
MUST_CHECK enum tn_status frame_reader_init(struct frame_reader *reader, struct buffer_pool *pool,
                                            uint64_t cluster, uint32_t body_max);

/* Be as new, for another stream; releases a body that is not whole. */
void frame_reader_reset(struct frame_reader *reader);
void frame_reader_destroy(struct frame_reader *reader);

/* Where the next bytes go, in this order: one or two places, the number is returned. They stay
 * valid until `frame_reader_came`. Call it only when frame_reader_next has no frame. */
unsigned frame_reader_space(const struct frame_reader *reader,
                            struct iovec out[static FRAME_READER_SPACES]);

/* `bytes` more came into those places. */
void frame_reader_came(struct frame_reader *reader, size_t bytes);

/*
 * Take one whole frame: `*whole` says whether there was one. The caller owns one reference to
 * `*body`, which is NULL when the frame has none. After an error the stream is lost: close it.
 *
 *   TN_EPROTO  the header is not one of ours, of another cluster, or asks for too large a body
 *   TN_ENOMEM  the pool has no room for the body
 */
MUST_CHECK enum tn_status frame_reader_next(struct frame_reader *reader, bool *whole,
                                            struct frame_header *header, struct buffer **body,
                                            struct error *error);

#endif
