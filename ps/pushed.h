/*
 * ps/pushed.h: a gradient that a worker pushes, in the buffers in which its chunks arrived; and the
 * pushes that have arrived in part, by connection.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_PUSHED_H
#define PS_PUSHED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/row_body.h"
#include "common/net/chunks.h"
#include "common/net/transport.h"
#include "kernels/sparse/row_sums.h"

struct pushed {
    uint32_t count, capacity;
    struct buffer *chunks[]; /* [capacity]; the last `count` are here. One reference each. */
};

/* Room for `capacity` chunks. NULL: out of memory. */
struct pushed *pushed_create(uint32_t capacity);
/* Put the next chunk in front of those that are here (T9). Takes one reference. */
void pushed_add(struct pushed *pushed, struct buffer *chunk);
/* Releases the chunks. NULL is allowed. */
void pushed_free(struct pushed *pushed);

/* The present push of a connection. */
struct push_begun {
    conn_id conn;
    struct chunks order;
    struct pushed *sum; /* The chunks that the core has kept, or NULL. */
    /* Before the chunks: the frames with rows that have arrived, their order and the first header;
     * and the rows that the core has kept. */
    uint32_t row_frames;
    struct row_body_order row_order;
    struct frame_header row_header;
    struct row_sums rows;
    bool by_lane; /* Its frames travel through shared memory. */
    bool trains;  /* A worker's: it has pushed or pulled. */
};

struct pushes_begun {
    uint32_t count;
    struct push_begun items[TRANSPORT_CONNECTIONS_MAX]; /* Connections that have sent a frame. */
};

/* That of `conn`, or NULL. Valid until a connection is removed. */
struct push_begun *pushes_find(struct pushes_begun *pushes, conn_id conn);
/* Likewise, added if it is new. NULL: there are as many as connections. */
struct push_begun *pushes_get(struct pushes_begun *pushes, conn_id conn);
/* The connection has closed. */
void pushes_remove(struct pushes_begun *pushes, conn_id conn);
/* Release the chunks and rows of `conn`, or of all. Their order is still checked. */
void pushes_release(struct pushes_begun *pushes, conn_id conn);
void pushes_release_all(struct pushes_begun *pushes);
/* The number of workers' connections through shared memory and, times 65536, of those over TCP. */
uint32_t pushes_lanes(const struct pushes_begun *pushes);

#endif
