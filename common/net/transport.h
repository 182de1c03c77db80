/*
 * common/net/transport.h: frames between nodes. Only transport*.c know nng (its byte streams,
 * `nng_stream`); the simulator implements the same port over a modelled network.
 *
 * A connection delivers complete frames in order until it closes (T2); frames that the peer has not
 * acknowledged by its own protocol may be lost with it. It proves no death (T3).
 * The transport does heartbeats, size bounds, header checksums, the cluster key and closing. It
 * neither reconnects nor repeats; drivers do.
 *
 * Threads: one thread or several call the functions of the port, which never block. In production
 * the library's threads call `sink`, which puts the event into an inbox and returns.
 */
#ifndef COMMON_NET_TRANSPORT_H
#define COMMON_NET_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/doorbell.h"
#include "common/base/error.h"
#include "common/net/wire.h"

enum {
    TRANSPORT_ADDRESS_MAX = 128,
    TRANSPORT_CONNECTIONS_MAX = 256, /* T5: dialed and accepted; one more is closed at once. */
    TRANSPORT_GREETING_MS = 1000,    /* T6: a peer that dialed us sends a header within this. */
    TRANSPORT_UNKNOWN_MAX = 64,      /* Accepted connections that have sent no header. */
    TRANSPORT_UNKNOWN_HOST_MAX = 32, /* The same from one address; one more closes the oldest. */
    TRANSPORT_QUEUE_MAX = 1024,      /* Bodies, whole ones, that wait on one connection. */
};

/* A connection, dialed or accepted. Never reused within a process; 0: none. */
typedef struct {
    uint64_t v;
} conn_id;

enum transport_event_type {
    TRANSPORT_OPENED, /* `accepted`: the peer dialed us and sent its first valid header. */
    TRANSPORT_FRAME,  /* `header` and `body`. */
    TRANSPORT_CLOSED, /* The last event of a connection; also the answer to a failed dial. */
};

struct transport_event {
    enum transport_event_type type;
    conn_id conn;
    bool accepted;
    bool by_lane; /* OPENED: its frames travel through shared memory. */
    struct frame_header header;
    struct buffer *body; /* One reference, passed to the sink; NULL: the frame has no body. */
    /*
     * CLOSED: the cause.
     *   TN_OK         we closed it
     *   TN_ECLOSED    the peer closed it
     *   TN_ECONNECT   no process listens at the address; TN_EINVAL: the address is malformed;
     *                 TN_ENOENT: the name of its host cannot be resolved, or this host has no port
     *                 or address left to reach it from (for an IP address: TN_ECONNECT)
     *   TN_EPROTO     the peer sent something that is not a frame of this cluster and release
     *   TN_ETIMEDOUT  T4: the peer was silent for 4 heartbeats; or it does not read: no byte could
     *                 be sent for as long, or TRANSPORT_QUEUE_MAX bodies wait
     *   TN_ENOMEM     the pool has no memory for a body, or all TRANSPORT_CONNECTIONS_MAX are used
     */
    enum tn_status status;
};

typedef void (*transport_sink)(void *ctx, const struct transport_event *event);

struct transport_port {
    void *ctx;
    /* Start connecting to "tcp://127.0.0.1:4000" or "ipc:///path". OPENED or CLOSED follows,
     * perhaps before this returns. Waits 4 heartbeats for an answer. */
    conn_id (*dial)(void *ctx, const char *address);
    /*
     * Send a frame, or one for each chunk of a longer body. `body` may be NULL; otherwise its
     * `size` bytes are sent and one reference is taken, whatever happens. `cluster`, `sender` and
     * `body_bytes` of the header are filled in, and the chunk's place is added to `offset`.
     * Frames for a closed connection are dropped; CLOSED reports that. Frames of one connection
     * keep their order, also before OPENED.
     */
    void (*send)(void *ctx, conn_id conn, const struct frame_header *header, struct buffer *body);
    /*
     * A place for the body of a PUSH, where the receiver will read it: `bytes` bytes at line `line`
     * of a page, with one reference. The caller writes the body there, then sends it once or again,
     * also on other connections. It does not change before its last release, also if the
     * connection closes. NULL: not possible at present. May be NULL itself: never.
     */
    struct buffer *(*reserve)(void *ctx, conn_id conn, uint32_t line, size_t bytes);
    /* Close; CLOSED follows unless it was delivered already. Unknown ids are ignored. */
    void (*close)(void *ctx, conn_id conn);
    uint32_t chunk_bytes; /* WIRE_CHUNK_BYTES; fewer in simulations. */
};

/* ------------------------------------------------------------ the transport */

struct loan_memory;

struct transport_config {
    const char *listen;    /* "tcp://127.0.0.1:0" picks a free port; NULL: dial only. */
    bool dial_only;        /* `listen` is only our name: it is checked, and no port is opened. */
    uint64_t cluster;      /* Frames of another cluster close the connection. */
    uint64_t sender;       /* Our incarnation. */
    uint32_t body_max;     /* Bytes (T7). */
    uint32_t heartbeat_ms; /* Sent when nothing else was; a peer that is silent for 4 is closed. */
    bool lanes; /* Peers that offer lanes too, and share this host, are reached by one (T10). */
    /* The memory whose bodies are lent to peers that dial this node, instead of being copied
     * (common/net/loans.h); it outlives the transport. NULL: none. */
    const struct loan_memory *loans;
    bool owner_polls; /* The owner calls transport_poll(); else a thread of the transport does. */
    struct buffer_pool *pool; /* Bodies are received into its buffers. */
    transport_sink sink;
    void *sink_ctx;
    /* Whether so many frames wait for the owner that other threads should only receive from
     * lanes what keeps the connections (T4): the peers have the rest until the owner polls. From
     * any thread. NULL: never. */
    bool (*is_behind)(void *sink_ctx);
};

struct transport;

/*
 * The sink may be called before this returns, if a peer knows the address already. nng starts, once
 * per process, 7 threads and 3 more per core.
 *
 *   TN_EBUSY   the port is in use
 *   TN_EINVAL  the address is malformed or not of this host, heartbeat_ms is 0, or body_max is too
 *              large
 *   TN_EIO     listening failed for another reason, such as missing permission
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status transport_open(const struct transport_config *config,
                                         struct transport **out, struct error *error);

/* Close every connection, deliver CLOSED for each, wait for all callbacks, and free. No event
 * follows after it returns. Do not call it from the sink, nor with a lock that the sink takes. NULL
 * is allowed. */
void transport_close(struct transport *transport);

struct transport_port transport_port_of(struct transport *transport);

/* With `owner_polls`: deliver the frames that have arrived on lanes, and those on streams that are
 * left to the owner, and send those that wait for space in a lane. True: something was done. The
 * sink is called before it returns. */
bool transport_poll(struct transport *transport);

/* Whether transport_poll() only looks into memory. Then the owner may repeat it instead of
 * sleeping. */
bool transport_polls_memory(struct transport *transport);
/* The owner will sleep at the doorbell. It calls this after doorbell_announce(), and looks at its
 * sources afterwards. */
void transport_prepare_sleep(struct transport *transport);

/* Rings when transport_poll() has something to do. Borrowed; its owner is the thread that polls.
 * NULL: the transport need not be polled. */
struct doorbell *transport_doorbell(struct transport *transport);

/* The address that peers dial, with the port that was picked: "tcp://127.0.0.1:40123"; `listen` as
 * given if no port is opened. */
void transport_address(const struct transport *transport, char *text, size_t size);

#endif
