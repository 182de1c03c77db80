/*
 * worker/ps_links.h: one connection to each ps, dialled again whenever it closes, with back-off,
 * and whenever the ps is reborn under a new incarnation. A part of the worker's driver.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef WORKER_PS_LINKS_H
#define WORKER_PS_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/task.h"
#include "common/cluster/znodes.h"
#include "common/net/transport.h"

enum {
    LINK_REDIAL_MS = 5, /* First; doubles up to LINK_REDIAL_MAX_MS, until something was received. */
    LINK_REDIAL_MAX_MS = 200,
};

struct link {
    bool known; /* The ps is registered: `incarnation` and `address` are where to dial. */
    uint64_t incarnation;
    char address[TRANSPORT_ADDRESS_MAX];
    conn_id conn; /* 0: none. */
    bool open;
    uint64_t redial_at_ms;
    uint32_t delay_ms;
    enum tn_status last_status; /* Why the last connection closed. */
};

struct links {
    struct transport_port port;
    uint32_t count;
    struct link items[PS_MAX];
};

void links_init(struct links *links, uint32_t count, const struct transport_port *port);

/* Ps `index` is registered as `member`; NULL: not any more (an open connection stays). True: an
 * open connection to a former incarnation was given up. */
bool links_set_member(struct links *links, uint32_t index, const struct member *member,
                      uint64_t now_ms);

/* The ps that `conn` leads to, or -1. */
int links_find(const struct links *links, conn_id conn);
/* A connection of ours opened, or closed: true if it had been open. */
void links_opened(struct links *links, uint32_t index);
bool links_closed(struct links *links, uint32_t index, enum tn_status status, uint64_t now_ms);
/* The ps sends sense: dial it fast the next time. */
void links_confirmed(struct links *links, uint32_t index);

/* Dial what is due. */
void links_tick(struct links *links, uint64_t now_ms);
uint64_t links_deadline_ms(const struct links *links);

#endif
