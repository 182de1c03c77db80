/*
 * common/net/transport.h: frames between nodes. Only transport*.c know nng (its byte streams,
 * `nng_stream`); the simulator implements the same port over a modelled network.
 *
 * A connection delivers frames whole and in order until it closes; what was sent and not
 * acknowledged by the peer's own protocol may be lost with it. The transport does heartbeats, size
 * bounds, header checksums, the cluster key and closing; it never reconnects and never repeats:
 * drivers do.
 *
 * Threads: the port's functions are called by the owner's thread (or several) and never block.
 * Events go to `sink` on the library's threads in production: it puts them in an inbox and returns.
 */
#ifndef COMMON_NET_TRANSPORT_H
#define COMMON_NET_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/net/wire.h"

enum {
    TRANSPORT_ADDRESS_MAX = 128,
    TRANSPORT_CONNECTIONS_MAX = 256, /* Of both sides together; a peer beyond is closed at once. */
    TRANSPORT_QUEUE_MAX = 1024,      /* Frames that wait to be sent on one connection. */
};

/* One connection, of either side. Never reused within a process; 0 is none. */
typedef struct {
    uint64_t v;
} conn_id;

enum transport_event_type {
    TRANSPORT_OPENED, /* `accepted`: the peer dialled us, and sent its first valid header. */
    TRANSPORT_FRAME,  /* `header` and `body`. */
    TRANSPORT_CLOSED, /* Also the answer to a dial that failed. The last event of a connection. */
};

struct transport_event {
    enum transport_event_type type;
    conn_id conn;
    bool accepted;
    struct frame_header header;
    struct buffer *body; /* One reference, handed to the sink; NULL when the frame has no body. */
    /*
     * CLOSED: why.
     *   TN_OK         we closed it
     *   TN_ECLOSED    the peer left
     *   TN_ECONNECT   nobody listens there; TN_EINVAL: the address is malformed
     *   TN_EPROTO     the peer sent what is no frame of this cluster and release
     *   TN_ETIMEDOUT  the peer was silent for 4 heartbeats, or does not read: nothing went for as
     *                 long, or TRANSPORT_QUEUE_MAX frames wait for it
     *   TN_ENOMEM     the pool has no room for a body, or all TRANSPORT_CONNECTIONS_MAX are in use
     */
    enum tn_status status;
};

typedef void (*transport_sink)(void *ctx, const struct transport_event *event);

struct transport_port {
    void *ctx;
    /* Start connecting to "tcp://127.0.0.1:4000" or "ipc:///path". OPENED or CLOSED follows,
     * perhaps before this returns. Never fails at once; waits 4 heartbeats for an answer. */
    conn_id (*dial)(void *ctx, const char *address);
    /*
     * Send a frame. `body` may be NULL; else its `size` bytes are sent and one reference is taken
     * over, whatever happens. `cluster`, `sender` and `body_bytes` of the header are filled in
     * here. Frames for a connection that is gone are dropped: CLOSED tells. Frames of one
     * connection keep their order, also before OPENED.
     */
    void (*send)(void *ctx, conn_id conn, const struct frame_header *header, struct buffer *body);
    /* Close; CLOSED follows, unless it came already. Unknown ids are ignored. */
    void (*close)(void *ctx, conn_id conn);
};

/* ------------------------------------------------------------- the real one */

struct transport_config {
    const char *listen;    /* "tcp://127.0.0.1:0" picks a free port; NULL: dial only. */
    uint64_t cluster;      /* Frames of another cluster close the connection. */
    uint64_t sender;       /* Our incarnation. */
    uint32_t body_max;     /* Bytes. */
    uint32_t heartbeat_ms; /* Sent when nothing else was; a peer silent for 4 of these is closed. */
    struct buffer_pool *pool; /* Bodies are received into its buffers. */
    transport_sink sink;
    void *sink_ctx;
};

struct transport;

/*
 * The sink may be called before this returns, when a peer knows the address already. nng starts,
 * once a process, 7 threads and 3 more a core.
 *
 *   TN_EBUSY   the port is in use
 *   TN_EINVAL  the address is malformed or not of this host, or heartbeat_ms is 0
 *   TN_EIO     it cannot be listened on for another reason, as a lack of rights
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status transport_open(const struct transport_config *config,
                                         struct transport **out, struct error *error);

/* Close every connection, tell CLOSED of each, wait until nothing of it runs any more, and free. No
 * event after it returns. Not to be called from the sink, nor with a lock the sink takes. NULL is
 * allowed. */
void transport_close(struct transport *transport);

struct transport_port transport_port_of(struct transport *transport);

/* The address peers can dial, with the port that was picked: "tcp://127.0.0.1:40123". */
void transport_address(const struct transport *transport, char *text, size_t size);

#endif
