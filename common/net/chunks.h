/*
 * common/net/chunks.h: whether the frames of a connection are the chunks of whole bodies. A long
 * body arrives as frames that follow each other in the order that wire_is_last_first() names, with
 * the same header but for `offset`, `body_bytes` and `loss`. A body that a broken connection has
 * cut is not continued on the next one. Of the types, only VALUES_GROWING may be given up for
 * another body.
 *
 * Pure; the owner keeps one `struct chunks` for each connection.
 */
#ifndef COMMON_NET_CHUNKS_H
#define COMMON_NET_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/wire.h"

/* All zero: nothing has arrived. */
struct chunks {
    struct frame_header first; /* The first header of the last body that began. */
    uint64_t have;             /* Bytes of that body which have arrived. */
    uint32_t number;           /* The number of the last accepted chunk, by arrival, from 0. */
    bool incomplete;           /* Chunks of it are still to come. */
    bool skipped;              /* The receiver does not want it. */
    bool invalid; /* The owner closes the connection, and ignores what still arrives. */
};

enum chunk_kind {
    CHUNK_LAST,     /* The body is complete. */
    CHUNK_MORE,     /* Others follow. */
    CHUNK_REPEATED, /* The chunk has arrived already, or is of a skipped body: ignore it. */
};

/* Why `header` does not follow the headers that have arrived on the connection, or NULL. `total` is
 * the size of the whole body, which the receiver knows; not what the sender claims. */
const char *chunks_fault(struct chunks *chunks, const struct frame_header *header, uint64_t total,
                         uint32_t chunk_bytes, enum chunk_kind *kind);

/* The receiver does not want the body of `header`, at its first chunk or at a later one: its other
 * chunks will be CHUNK_REPEATED, and another body may begin. */
void chunks_skip(struct chunks *chunks, const struct frame_header *header);

#endif
