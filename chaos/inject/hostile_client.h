/*
 * chaos/inject/hostile_client.h: hostile connections to listening ports: garbage, nothing at all,
 * resets, half a header, impossible lengths. Each is the seed's, and over in no time; some are left
 * hanging.
 *
 * Only to addresses of the lab and of this machine's loopback. Threads: the main thread. Blocking:
 * never, for the network; some 1 ms to find the ports.
 */
#ifndef CHAOS_INJECT_HOSTILE_CLIENT_H
#define CHAOS_INJECT_HOSTILE_CLIENT_H

#include "chaos/cluster/targets.h"

enum {
    HOSTILE_CLIENT_PORTS_MAX = 16,
    HOSTILE_CLIENT_HELD_MAX = 64,
    HOSTILE_CLIENT_ADDRESS_MAX = 64
};

struct hostile_client_ports {
    char address[HOSTILE_CLIENT_ADDRESS_MAX]; /* IPv4. */
    uint32_t count;
    uint16_t list[HOSTILE_CLIENT_PORTS_MAX];
};

/* Where a place listens: in its network, all that a node does, and a server for clients.
 * TN_EAGAIN: nowhere, or it is not known. */
MUST_CHECK enum tn_status hostile_client_find_ports(const struct target_cluster *cluster,
                                                    const struct place *place,
                                                    struct hostile_client_ports *out,
                                                    struct error *error);

struct poke {
    uint32_t connections; /* That were accepted, all in all. */
    uint32_t held_count;
    int held[HOSTILE_CLIENT_HELD_MAX]; /* Left hanging. Owned. */
};

/* A volley: one connection of each kind. */
void hostile_client_port(struct poke *poke, struct random *random, const char *address,
                         uint16_t port, bool is_zookeeper);
/* Close what hangs. */
void hostile_client_let_go(struct poke *poke);

#endif
