/*
 * common/net/transport_lanes.h: the lanes of a transport: its door, the calls to other doors, and
 * the polling of the connections that have a lane. Private to transport*.c.
 *
 * Locks: the mutex of polling is taken before that of a connection and is held while the sink runs;
 * that of calls is taken after it.
 */
#ifndef COMMON_NET_TRANSPORT_LANES_H
#define COMMON_NET_TRANSPORT_LANES_H

#include <stdatomic.h>

#include "common/base/bell.h"
#include "common/net/lane_door.h"
#include "common/net/transport_connection.h"

enum {
    LANE_CALLS_MAX = 64,
    LANE_CALL_MS = 500, /* Without an answer by then, the connection stays with TCP. */
};

struct lane_call_waiting {
    struct connection *connection;
    int fd;
    uint64_t since_ms;
};

struct lanes {
    struct bell bell;
    struct lane_door door;
    int wake_fd; /* Ends lanes_wait(). */
    pthread_t helper;
    enum bell_waiter helper_waits_as;
    atomic_bool stopping;
    pthread_mutex_t calls_mutex; /* Guards the next two. */
    struct lane_call_waiting calls[LANE_CALLS_MAX];
    unsigned call_count;
    pthread_mutex_t polling; /* Guards the rest. */
    struct connection *polled[TRANSPORT_CONNECTIONS_MAX];
    unsigned polled_count;
};

/* `address`: where the node listens, "127.0.0.1:4000"; NULL: nowhere. NULL: `reason`. */
struct lanes *lanes_open(uint64_t cluster, const char *address, bool owner_polls,
                         char reason[static LANE_REASON_MAX]);
void lanes_close(struct lanes *lanes); /* Every connection is closed. NULL is allowed. */

/* For the maintenance thread: serve the door and the calls until lanes_wake(), or until
 * `deadline_ms`. */
void lanes_wait(struct lanes *lanes, uint64_t deadline_ms);
void lanes_wake(struct lanes *lanes);

/* The connection waits for the answer of a door: connection_lane_called() follows on the
 * maintenance thread. False: too many wait. */
bool lanes_add_call(struct lanes *lanes, struct connection *connection, int fd);

/* Poll a connection from now on, and no longer after the second returns (NULL is allowed). */
void lanes_add(struct lanes *lanes, struct connection *connection);
void lanes_remove(struct lanes *lanes, struct connection *connection);
bool lanes_poll(struct lanes *lanes);

#endif
