/*
 * ps/ps_clients.h: what the ps knows of each connection that sends it frames, of a worker or an
 * observer: the push that has arrived in part, the lookup that waits for its step, and whether it
 * has a lane.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_PS_CLIENTS_H
#define PS_PS_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/row_body.h"
#include "common/net/chunks.h"
#include "common/net/transport.h"
#include "kernels/sparse/row_sums.h"
#include "ps/pushed_gradient.h"

struct ps_client {
    conn_id conn;
    struct chunks order;         /* The chunks of the present push. */
    struct pushed_gradient *sum; /* Its chunks that the core has kept, or NULL. */
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

struct ps_clients {
    uint32_t count;
    struct ps_client items[TRANSPORT_CONNECTIONS_MAX]; /* Connections that have sent a frame. */
};

/* The client of `conn`, or NULL. Valid until a connection is removed. */
struct ps_client *ps_clients_find(struct ps_clients *clients, conn_id conn);
/* The client of `conn`, added if it is new. NULL: there are already as many as connections. */
struct ps_client *ps_clients_find_or_add(struct ps_clients *clients, conn_id conn);
/* The connection has closed. */
void ps_clients_remove(struct ps_clients *clients, conn_id conn);
/* Release the chunks and rows of the push of `conn`. Their order is still checked. */
void ps_clients_release_push(struct ps_clients *clients, conn_id conn);
/* Release the pushes of all connections, and the lookups that wait. */
void ps_clients_release_all(struct ps_clients *clients);
/* Keep the body of a lookup in place of the one that waits. Takes one reference; NULL: none. */
void ps_client_keep_lookup(struct ps_client *client, struct buffer *body);
/* The number of workers' connections through shared memory and, times 65536, of those over TCP. */
uint32_t ps_clients_count_lanes(const struct ps_clients *clients);

#endif
