/*
 * ps/incoming_pushes.h: a gradient that a worker pushes, in the buffers in which its chunks
 * arrived; and, by connection, the pushes that have arrived in part and the lookups that wait.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_INCOMING_PUSHES_H
#define PS_INCOMING_PUSHES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/row_body.h"
#include "common/net/chunks.h"
#include "common/net/transport.h"
#include "kernels/sparse/row_sums.h"

struct pushed_gradient {
    uint32_t count, capacity;
    struct buffer *chunks[]; /* [capacity]; the last `count` are here. One reference each. */
};

/* Room for `capacity` chunks. NULL: out of memory. */
struct pushed_gradient *pushed_gradient_create(uint32_t capacity);
/* Put the next chunk in front of those that have arrived (T9). Takes one reference. */
void pushed_gradient_add(struct pushed_gradient *pushed, struct buffer *chunk);
/* Releases the chunks. NULL is allowed. */
void pushed_gradient_free(struct pushed_gradient *pushed);

/* The present push of a connection. */
struct incoming_push {
    conn_id conn;
    struct chunks order;
    struct pushed_gradient *sum; /* The chunks that the core has kept, or NULL. */
    /* Before the chunks: the frames with rows that have arrived, their order and the first header;
     * and the rows that the core has kept. */
    uint32_t row_frames;
    struct row_body_order row_order;
    struct frame_header row_header;
    struct row_sums rows;
    struct buffer *lookup; /* The body of the lookup that waits for its step, or NULL. */
    bool by_lane;          /* Its frames travel through shared memory. */
    bool trains;           /* A worker's: it has pushed or pulled. */
};

struct incoming_pushes {
    uint32_t count;
    struct incoming_push items[TRANSPORT_CONNECTIONS_MAX]; /* Connections that have sent a frame. */
};

/* The push of `conn`, or NULL. Valid until a connection is removed. */
struct incoming_push *incoming_pushes_find(struct incoming_pushes *pushes, conn_id conn);
/* The same; adds it if it is new. NULL: there are already as many as connections. */
struct incoming_push *incoming_pushes_get(struct incoming_pushes *pushes, conn_id conn);
/* The connection has closed. */
void incoming_pushes_remove(struct incoming_pushes *pushes, conn_id conn);
/* Release the chunks and rows of `conn`. Their order is still checked. */
void incoming_pushes_release(struct incoming_pushes *pushes, conn_id conn);
/* The same for all connections, and the lookups that wait. */
void incoming_pushes_release_all(struct incoming_pushes *pushes);
/* Keep the body of a lookup in place of the one that waits. Takes one reference; NULL: none. */
void incoming_push_keep_lookup(struct incoming_push *incoming, struct buffer *body);
/* The number of workers' connections through shared memory and, times 65536, of those over TCP. */
uint32_t incoming_pushes_lanes(const struct incoming_pushes *pushes);

#endif
