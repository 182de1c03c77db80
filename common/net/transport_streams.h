/*
 * common/net/transport_streams.h: streams from which the owner reads. Private to transport*.c.
 *
 * A frame that nng receives passes through three threads, each of which is woken for it: nng's
 * poller, one of nng's tasks, the owner. If the owner polls and has no lanes, a stream that carries
 * small frames *rests* instead: no read is pending, and its descriptor is in the epoll set in which
 * the owner sleeps. The owner reads when the descriptor is readable. nng 1.5.2 does not pass the
 * descriptor on, so it is looked up by the addresses of its two ends. It is only waited for: nng
 * reads all bytes, on the owner's thread.
 *
 *   nng's threads read again from          when                              in
 *   a stream                               a body did not arrive at once     streams_poll
 *   all of them                            the owner has not polled for a    streams_tick
 *                                          tick, as it computes
 *   all of them                            the owner sleeps where lanes ring streams_prepare_sleep
 *
 * Locks: none of its own.
 */
#ifndef COMMON_NET_TRANSPORT_STREAMS_H
#define COMMON_NET_TRANSPORT_STREAMS_H

#include <stdatomic.h>

#include "common/base/doorbell.h"
#include "common/net/transport_connection.h"
#include "common/net/transport_lanes.h"

struct streams {
    struct lanes *lanes;       /* NULL: none. */
    struct doorbell own;       /* Rings for the owner of a transport without lanes. */
    struct doorbell *doorbell; /* That, or the one of the lanes. */
    atomic_uint resting;       /* The number of streams in the doorbell's set. */
    atomic_uint polls;         /* By the owner. */
    unsigned polls_at_tick;
};

/* NULL: not possible; nng's threads read. NULL is allowed as `streams` in all functions. */
struct streams *streams_open(struct lanes *lanes);
/* Every connection is closed. The lanes still exist. */
void streams_close(struct streams *streams);

/* ---- With the connection's mutex held. */

/* Whether the stream rests from now on: no read is to be started. Its last read has ended. */
bool streams_rest(struct connection *connection);
/* The connection closes. */
void streams_forget(struct connection *connection);

/* ---- Without it. */

/* Whether there are streams that rest. */
bool streams_rest_now(struct streams *streams);
/* For the owner: read from the streams that rest. True: something was done. */
bool streams_poll(struct streams *streams);
/* For the owner: it has announced itself at the doorbell. `all`: TRANSPORT_CONNECTIONS_MAX. */
void streams_prepare_sleep(struct streams *streams, struct connection *all);
/* For the maintenance thread. */
void streams_tick(struct streams *streams, struct connection *all);

#endif
