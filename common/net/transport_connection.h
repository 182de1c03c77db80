/*
 * common/net/transport_connection.h: one connection of the transport. Private to transport.c.
 *
 *   phase          changes to   when                                              in
 *   FREE           DIALING      the owner dials                                   connection_dial
 *                  GREETING     a peer dialed us                                  connection_accept
 *   DIALING        OPEN         the stream is connected; OPENED is delivered      end_dial
 *   GREETING       OPEN         a first valid header arrived; OPENED is delivered announce
 *   all of these   CLOSING      error, silence, or the owner closes               begin_closing
 *   CLOSING        FREE         no operation is left; CLOSED is delivered         connection_reap
 *
 * A peer that never sends a valid header causes no event: no OPENED, no CLOSED. It has
 * TRANSPORT_GREETING_MS for it, whatever bytes it sends.
 *
 * `pending` counts the operations that nng carries out for us, from their start to the end of their
 * callbacks. As soon as a connection is CLOSING and has none pending, it is passed to the
 * maintenance thread (`on_closed`). Only that thread frees the stream, after all aios are idle: nng
 * 1.5.2 may still hold a stream's mutex when it calls us back, and aborts if the stream is freed at
 * that moment. For the same reason no aio with a callback has a timeout or is cancelled (a cancel
 * may reach a freed stream); such an operation ends only by closing the stream. No operation is
 * started on a closed stream, as it would never end.
 *
 * Locks: a connection's mutex may be held while those of nng, of the host or of the pool are taken,
 * never the other way round. No lock is held while the sink runs.
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
#include "common/net/lane.h"
#include "common/net/lane_listener.h"
#include "common/net/transport.h"

enum {
    TICKS_PER_INTERVAL = 4,                    /* Ticks of a heartbeat interval. */
    TICKS_SILENT_MAX = 4 * TICKS_PER_INTERVAL, /* Then the connection is closed. */
    TICKS_IDLE_MAX = TICKS_PER_INTERVAL,       /* Then a heartbeat is sent. */
};

struct connection;
struct lanes;
struct streams;

/* Shared by all connections of a transport. */
struct connection_host {
    struct transport_config config;
    atomic_uint warnings_left; /* Warnings that may be logged before the next tick. */
    /* `connection` is CLOSING and nothing is pending: call connection_reap() on the maintenance
     * thread. May be called with the connection's mutex held; must not call back. */
    void (*on_closed)(struct connection_host *host, struct connection *connection);
    struct lanes *lanes;     /* NULL: none are offered. */
    struct streams *streams; /* NULL: nng's threads read from all of them. */
};

enum connection_phase {
    CONNECTION_FREE,
    CONNECTION_DIALING,
    CONNECTION_GREETING,
    CONNECTION_OPEN,
    CONNECTION_CLOSING,
};

enum connection_lane_state {
    CONNECTION_LANE_NONE,      /* Frames travel over the stream. */
    CONNECTION_LANE_REQUESTED, /* We dialed, and wait for the answer of the peer's listener. */
    CONNECTION_LANE_AGREEING,  /* We wait for the answer to our nonce. */
    CONNECTION_LANE_ACTIVE,    /* Frames travel over the lane, heartbeats over the stream. */
};

struct connection_lane {
    enum connection_lane_state state; /* Guarded by the connection's mutex, as is `blocked`. */
    _Atomic bool blocked;             /* Frames wait for space; read without the mutex. */
    unsigned idle_ticks;              /* Since then, and since a byte was sent. */
    struct lane_nonce nonce;
    struct lane lane;
    bool broken;                /* Nothing more is read from it. As `reader`. */
    bool prepared;              /* `reader` has memory, which the slot's next user reuses. */
    struct frame_reader reader; /* Used in connection_poll() alone. */
};

struct connection {
    struct connection_host *host;
    struct connection *next; /* In the host's list of free or of closed connections. */
    uint32_t slot;
    bool prepared;         /* Memory and aios are allocated; the slot's next user reuses them. */
    pthread_mutex_t mutex; /* Guards the members below, but for the reader. */
    uint64_t id;           /* 0 while FREE. */
    enum connection_phase phase;
    enum tn_status reason; /* CLOSING. */
    bool accepted;
    bool announced; /* The sink knows the id, so it gets CLOSED. */
    bool numeric;   /* The connection was dialed by an IP address, not by a name. */
    bool dialing;   /* `read_aio` is used by the dial. */
    bool resting;   /* No read is pending: the owner reads (common/net/transport_streams.h). */
    bool reading;   /* It does so now. */
    bool writing;   /* `write_aio` sends what `writer` has in flight. */
    unsigned pending;
    unsigned small_reads;    /* In a row; none of them ended within a body. */
    bool searched;           /* Whether streams_rest() has looked for `fd`. */
    int fd;                  /* The stream's; -1: not known. */
    unsigned silent_ticks;   /* Since a byte was received. */
    unsigned idle_ticks;     /* Since a byte was sent. */
    unsigned greeting_ticks; /* Since the connection was accepted. */
    uint64_t peer;           /* Hash of the address that dialed us. */
    nng_stream_dialer *dialer;
    nng_stream *stream;
    nng_aio *read_aio;
    nng_aio *write_aio;
    nng_aio *now_aio;             /* For operations that end at once, with the mutex held. */
    struct frame_reader reader;   /* Used by the read callback alone while that is pending. */
    struct frame_writer writer;   /* Frames of the owner. */
    struct frame_writer control;  /* Frames of the transport, on the stream beside a lane. */
    struct frame_writer *sending; /* The one that `write_aio` sends. */
    struct connection_lane lane;
};

/* `connection` must be all zero. */
void connection_init(struct connection *connection, struct connection_host *host, uint32_t slot);
/* The connection must be FREE. */
void connection_destroy(struct connection *connection);

/* Both need a FREE connection. An `address` that is NULL or malformed is answered by CLOSED.
 * TN_ENOMEM: the connection stays FREE, and the caller keeps `stream`. */
MUST_CHECK enum tn_status connection_dial(struct connection *connection, uint64_t id,
                                          const char *address);
MUST_CHECK enum tn_status connection_accept(struct connection *connection, uint64_t id,
                                            nng_stream *stream);

/* Connections that were accepted and have sent no header must not hold the slots of the others:
 * close one, if `newest` is one too many of them. `all`: an array of `count`. */
void connection_bound_unknown(struct connection *all, unsigned count, struct connection *newest);
/* Whether the peer dialed us and has not sent its first header; `id` and `peer` are then set. */
bool connection_is_unknown(struct connection *connection, uint64_t *id, uint64_t *peer);

/* The functions of the port; an outdated `id` is ignored. `body`: takes the reference. */
void connection_send(struct connection *connection, uint64_t id, const struct frame_header *header,
                     struct buffer *body);
struct buffer *connection_reserve(struct connection *connection, uint64_t id, uint32_t line,
                                  size_t bytes);
void connection_close(struct connection *connection, uint64_t id);
/* Close whatever the id. */
void connection_shut(struct connection *connection);

/* A quarter of an interval has passed: send a heartbeat, or close a silent connection. Ticks are
 * counted instead of time, so that a process that was stopped for a while does not close all its
 * connections when it continues. */
void connection_tick(struct connection *connection);

/* The peer's listener has answered on `fd`, or has not in time. Takes `fd`. */
void connection_lane_answered(struct connection *connection, int fd);
/* Deliver the frames that have arrived on the lane, and send those that wait for space. True:
 * something was done. One thread at a time, without the mutex. `behind_max`: how many bytes are
 * received although the owner is behind; SIZE_MAX if the owner polls, or the peer has closed. */
bool connection_poll(struct connection *connection, size_t behind_max);

/* After `on_closed`, on the maintenance thread: wait for all callbacks, deliver CLOSED and free the
 * stream; the connection is FREE then. */
void connection_reap(struct connection *connection);

#endif
