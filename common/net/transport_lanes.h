/*
 * common/net/transport_lanes.h: the lanes of a transport: its listener, the requests to other
 * listeners, and the polling of the connections that have a lane. Private to transport*.c.
 *
 * Locks: the mutex of polling is taken before that of a connection and is held while the sink runs;
 * that of the requests is taken after it.
 */
#ifndef COMMON_NET_TRANSPORT_LANES_H
#define COMMON_NET_TRANSPORT_LANES_H

#include <stdatomic.h>

#include "common/base/doorbell.h"
#include "common/net/lane_listener.h"
#include "common/net/transport_connection.h"

enum {
    LANE_REQUESTS_MAX = 64,
    LANE_REQUEST_MS = 500, /* Without an answer by then, the connection stays with TCP. */
};

struct lane_request_waiting {
    struct connection *connection;
    int fd;
    uint64_t since_ms;
};

struct lanes {
    struct doorbell doorbell;
    struct lane_listener listener;
    struct loans *loans; /* NULL: bodies are copied. */
    int wake_fd;         /* Ends lanes_wait(). */
    pthread_t helper;
    enum doorbell_waiter helper_waits_as;
    atomic_bool stopping;
    pthread_mutex_t requests_mutex; /* Guards the next two. */
    struct lane_request_waiting requests[LANE_REQUESTS_MAX];
    unsigned request_count;
    pthread_mutex_t polling; /* Guards the rest. */
    struct connection *polled[TRANSPORT_CONNECTIONS_MAX];
    atomic_uint polled_count;
};

/* `address`: where the node listens, "127.0.0.1:4000"; NULL: nowhere. NULL: `reason`. */
struct lanes *lanes_open(const struct transport_config *config, const char *address,
                         char reason[static LANE_REASON_MAX]);
void lanes_close(struct lanes *lanes); /* Every connection is closed. NULL is allowed. */

/* For the maintenance thread: serve the listener and the requests until lanes_wake(), or until
 * `deadline_ms`. */
void lanes_wait(struct lanes *lanes, uint64_t deadline_ms);
void lanes_wake(struct lanes *lanes);

/* The connection waits for the answer of a listener: connection_lane_answered() follows on the
 * maintenance thread. False: too many wait. */
bool lanes_add_request(struct lanes *lanes, struct connection *connection, int fd);

/* Poll a connection from now on, and no longer after the second returns (NULL is allowed). */
void lanes_add(struct lanes *lanes, struct connection *connection);
void lanes_remove(struct lanes *lanes, struct connection *connection);
bool lanes_poll(struct lanes *lanes, size_t behind_max); /* See connection_poll(). */
/* Whether there is such a connection. Without the mutex. */
bool lanes_are_polled(struct lanes *lanes);

#endif
