/*
 * common/net/lane.h: the memory of a connection whose ends share a host: a ring for each direction,
 * and the bell of the peer. A stream of bytes in place of the connection's TCP stream.
 *
 * Threads: one at a time sends and one at a time receives. Blocking: never.
 */
#ifndef COMMON_NET_LANE_H
#define COMMON_NET_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "common/base/bell.h"
#include "common/net/ring.h"

enum {
    LANE_RING_BYTES = 256 * 1024, /* For each direction: both fit into the cache of a core. */
    LANE_HEADS_BYTES = 4096,      /* The heads of both rings, before their bytes. */
    LANE_BYTES = LANE_HEADS_BYTES + 2 * LANE_RING_BYTES,
};

struct lane {
    void *memory; /* LANE_BYTES; NULL: none. */
    struct ring_producer out;
    struct ring_consumer in;
    struct bell_page *peer; /* The peer's bell. */
};

/* Create the memory, for the accepting end; `bell_fd` is the peer's. Returns the descriptor of the
 * memory, which the caller sends to the peer and closes; -1 and errno: not possible. */
int lane_create(struct lane *lane, int bell_fd);
/* Map the memory that the accepting end has created. False and errno: not possible, EINVAL: it is
 * not a lane of this release. The descriptors stay the caller's. */
bool lane_open(struct lane *lane, int fd, int bell_fd);
void lane_close(struct lane *lane); /* Also of a lane that is all zero. */

/* Send as much as there is space for, and notify the peer. If not everything was sent, it rings our
 * bell when there is space. False: the peer has broken the rings. */
bool lane_send(struct lane *lane, const struct iovec *pieces, unsigned count, size_t *sent);
/* Receive what waits, up to the size of the places. False: the peer has broken the rings. */
bool lane_receive(struct lane *lane, const struct iovec *places, unsigned count, size_t *received);

#endif
