/*
 * common/net/assembly.h: whole bodies from the chunks of a connection (T9), in any of the orders in
 * which they travel. A body of one chunk is passed on as it arrived, without a copy.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef COMMON_NET_ASSEMBLY_H
#define COMMON_NET_ASSEMBLY_H

#include "common/base/buffer.h"
#include "common/net/chunks.h"

/* All zero: nothing has arrived. */
struct assembly {
    struct chunks order;
    struct buffer *body; /* The beginning, or end, of a body, with one reference; or NULL. */
};

enum assembly_result {
    ASSEMBLY_INVALID,   /* `*fault` is why; the connection is to be closed. */
    ASSEMBLY_MORE,      /* Others follow, or it had arrived before. */
    ASSEMBLY_COMPLETE,  /* `*whole` has the body, with one reference; NULL: it is empty. */
    ASSEMBLY_NO_MEMORY, /* The body is lost. */
};

/* Add the chunk `body` (NULL: none), of a body of `total` bytes, which the receiver knows. Takes
 * its own reference. */
enum assembly_result assembly_add(struct assembly *assembly, struct buffer_pool *pool,
                                  const struct frame_header *header, struct buffer *body,
                                  uint64_t total, uint32_t chunk_bytes, struct buffer **whole,
                                  const char **fault);

/* The receiver does not want the body of which this is a chunk: nothing of it is kept, and its
 * other chunks are ASSEMBLY_MORE. */
void assembly_skip(struct assembly *assembly, const struct frame_header *header);

/* Nothing has arrived: the connection is over. */
void assembly_reset(struct assembly *assembly);

#endif
