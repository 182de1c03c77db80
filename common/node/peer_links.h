/*
 * common/node/peer_links.h: one connection to each ps, or without ps to each other worker, dialled
 * again with back-off when it closes, and at once when the peer restarts as a new incarnation. Part
 * of the drivers of workers and ps.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef COMMON_NODE_PEER_LINKS_H
#define COMMON_NODE_PEER_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/task.h"
#include "common/cluster/znodes.h"
#include "common/net/transport.h"

enum {
    LINKS_MAX = WORKERS_MAX, /* At least PS_MAX. */
    LINK_REDIAL_MS = 5, /* First delay; doubles up to LINK_REDIAL_MAX_MS until a frame arrives. */
    LINK_REDIAL_MAX_MS = 200,
};

struct link {
    bool ignored; /* The peer is never dialed. */
    bool known;   /* The ps is registered, with `incarnation` and `address`. */
    uint64_t incarnation;
    char address[TRANSPORT_ADDRESS_MAX];
    conn_id conn; /* 0: none. */
    bool open;
    bool by_lane;          /* `open`: through shared memory. */
    uint32_t without_lane; /* Connections that were refused because they were not. */
    uint64_t redial_at_ms;
    uint32_t delay_ms;
    enum tn_status last_status; /* Why the last connection closed. */
};

struct links {
    struct transport_port port;
    uint32_t count;
    struct link items[LINKS_MAX];
};

void links_init(struct links *links, uint32_t count, const struct transport_port *port);

/* The owner needs no connection to ps `index`. */
void links_ignore(struct links *links, uint32_t index);
/* Ps `index` is registered as `member`; NULL: no longer (an open connection stays). True: an open
 * connection to an earlier incarnation was closed. */
bool links_set_member(struct links *links, uint32_t index, const struct member *member,
                      uint64_t now_ms);

/* The index of the ps that `conn` leads to, or -1. */
int links_find(const struct links *links, conn_id conn);
/* The connection of ps `index` opened. */
void links_opened(struct links *links, uint32_t index);
/* The connection closed. True: it had been open. */
bool links_closed(struct links *links, uint32_t index, enum tn_status status, uint64_t now_ms);
/* Close all connections; none is dialled before the next links_tick(). */
void links_reset(struct links *links, uint64_t now_ms);
/* The ps sent a valid frame: the next redial is after LINK_REDIAL_MS again. */
void links_confirmed(struct links *links, uint32_t index);

/* Dial the links that are due. */
void links_tick(struct links *links, uint64_t now_ms);
uint64_t links_deadline_ms(const struct links *links);

#endif
