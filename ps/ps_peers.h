/*
 * ps/ps_peers.h: the connections of a ps to all other ps, on which it sends its parts of norms.
 * Part of the driver; needed only if updates need norms.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_PS_PEERS_H
#define PS_PS_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/roster.h"
#include "common/node/membership.h"
#include "common/node/peer_links.h"

enum { PS_PEERS_WAIT_LOG_MS = 3000 };

struct ps_peers {
    bool needed; /* There are other ps, and they need parts. */
    uint32_t index;
    bool is_following; /* The roster is being watched. */
    struct roster roster;
    struct links links;
    uint64_t waiting_since_ms, logged_at_ms; /* 0: the ps does not wait for a part. */
};

/* This is ps `index` of `count`; no other ps is needed unless `needed`. */
void ps_peers_init(struct ps_peers *peers, bool needed, uint32_t index, uint32_t count,
                   const struct transport_port *transport);

/* Call these with every event of ZooKeeper and of the transport, and after every event. */
void ps_peers_handle_zk(struct ps_peers *peers, const struct zk_event *event,
                        struct membership *membership, uint64_t now_ms);
/* Returns the ps to which a connection has opened, or -1. */
int ps_peers_handle_transport(struct ps_peers *peers, const struct transport_event *event,
                              uint64_t now_ms);
void ps_peers_tick(struct ps_peers *peers, struct membership *membership, uint64_t now_ms);
uint64_t ps_peers_deadline_ms(const struct ps_peers *peers);

/* The connection to ps `index`; 0: none is open. */
conn_id ps_peers_conn(const struct ps_peers *peers, uint32_t index);

/* `awaited`, after every event: a bit for each ps whose part of `step` is awaited. A long wait is
 * logged. */
void ps_peers_await(struct ps_peers *peers, uint64_t awaited, uint64_t step, uint64_t now_ms);

#endif
