/*
 * common/net/transport_connection.h: one connection of the transport, private to transport.c.
 *
 *   phase       is left for   when                                      by
 *   FREE        DIALING       the owner dials                           connection_dial
 *               GREETING      a peer dialled us                         connection_accept
 *   DIALING     OPEN          the stream is there; tells OPENED         end_dial
 *   GREETING    OPEN          its first valid header came; tells OPENED announce
 *   all these   CLOSING       error, silence, or the owner's wish       begin_closing
 *   CLOSING     FREE          nothing runs any more; tells CLOSED       connection_reap
 *
 * A peer that never sends a valid header is never told of: no OPENED, no CLOSED.
 *
 * `pending` counts the operations nng carries out for us, from their start to the end of their
 * callback. A connection is handed to the session_reaper (`on_dead`) in the instant in which it is
 * CLOSING and nothing is pending; only the session_reaper's thread frees its stream, after all aios
 * have come to rest: nng 1.5.2 may still hold a stream's mutex when it calls us back, and aborts
 * if the stream is freed in that instant. For the same reason no aio with a callback has a timeout
 * or is cancelled (a cancel may reach a stream that is gone): what ends such an operation is to
 * close. And nothing is started on a closed stream, where it would never end.
 *
 * Locks: a connection's mutex may be held while nng's or the host's or the pool's are taken, never
 * the other way round. No lock is held while the sink runs.
 */
#ifndef COMMON_NET_TRANSPORT_CONNECTION_H
#define COMMON_NET_TRANSPORT_CONNECTION_H

#include <nng/nng.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/frame_reader.h"
#include "common/net/frame_writer.h"
#include "common/net/transport.h"

enum {
    TICKS_PER_INTERVAL = 4,                    /* Of the heartbeat. */
    TICKS_SILENT_MAX = 4 * TICKS_PER_INTERVAL, /* Then the peer is taken for dead. */
    TICKS_IDLE_MAX = TICKS_PER_INTERVAL,       /* Then a heartbeat is sent. */
};

struct connection;

/* What all connections of a transport share. */
struct connection_host {
    struct transport_config config;
    atomic_uint warnings_left; /* Refused peers that may still be logged before the next tick. */
    /* `connection` is CLOSING and nothing is pending: have connection_reap called. May be called
     * with the connection's mutex held; must not call back. */
    void (*on_dead)(struct connection_host *host, struct connection *connection);
};

enum connection_phase {
    CONNECTION_FREE,
    CONNECTION_DIALING,
    CONNECTION_GREETING,
    CONNECTION_OPEN,
    CONNECTION_CLOSING,
};

struct connection {
    struct connection_host *host;
    struct connection *next; /* In the host's list of the free or of the dead. */
    uint32_t slot;
    bool prepared;         /* Memory and aios are there; they are kept for the slot's next user. */
    pthread_mutex_t mutex; /* Guards what follows, but for the reader. */
    uint64_t id;           /* 0 while FREE. */
    enum connection_phase phase;
    enum tn_status reason; /* CLOSING. */
    bool accepted;
    bool told;     /* The sink knows the id: it gets CLOSED. */
    bool dialling; /* `read_aio` carries the dial. */
    bool writing;  /* `write_aio` carries what `writer` has in flight. */
    unsigned pending;
    unsigned silent_ticks; /* Since a byte came. */
    unsigned idle_ticks;   /* Since a byte went. */
    nng_stream_dialer *dialer;
    nng_stream *stream;
    nng_aio *read_aio;
    nng_aio *write_aio;
    nng_aio *now_aio;           /* For what is tried with the mutex held and never left to wait. */
    struct frame_reader reader; /* The read callback's alone, while it is pending. */
    struct frame_writer writer;
};

/* `connection` is all zero. */
void connection_init(struct connection *connection, struct connection_host *host, uint32_t slot);
/* It must be FREE. */
void connection_destroy(struct connection *connection);

/* Both take a FREE connection. An `address` that is NULL or malformed is answered by CLOSED.
 * TN_ENOMEM: it stays FREE, and `stream` the caller's. */
MUST_CHECK enum tn_status connection_dial(struct connection *connection, uint64_t id,
                                          const char *address);
MUST_CHECK enum tn_status connection_accept(struct connection *connection, uint64_t id,
                                            nng_stream *stream);

/* The port's functions; an `id` of another time is ignored. `body` is taken over. */
void connection_send(struct connection *connection, uint64_t id, const struct frame_header *header,
                     struct buffer *body);
void connection_close(struct connection *connection, uint64_t id);
/* Whatever its id. */
void connection_shut(struct connection *connection);

/* A quarter of an interval has passed: send a heartbeat, or give up a silent peer. Ticks, not
 * time, are counted, so that a process that was stopped for a while does not take all its peers
 * for dead when it goes on. */
void connection_tick(struct connection *connection);

/* After `on_dead`, on the session_reaper's thread: wait until nothing of it runs, tell CLOSED, free
 * the stream; it is FREE then. */
void connection_reap(struct connection *connection);

#endif
