/*
 * chaos/poke.h: hostile connections to listening ports: garbage, nothing at all, resets, half a
 * header, impossible lengths. Each is the seed's, and over in no time; some are left hanging.
 *
 * Only to addresses of the lab and of this machine's loopback. Threads: the main thread. Blocking:
 * never, for the network; some 1 ms to find the ports.
 */
#ifndef CHAOS_POKE_H
#define CHAOS_POKE_H

#include "chaos/arena.h"

enum { POKE_PORTS_MAX = 16, POKE_HELD_MAX = 64, POKE_ADDRESS_MAX = 64 };

struct poke_ports {
    char address[POKE_ADDRESS_MAX]; /* IPv4. */
    uint32_t count;
    uint16_t list[POKE_PORTS_MAX];
};

/* Where a place listens: in its network, all that a node does, and a server for clients.
 * TN_EAGAIN: nowhere, or it is not known. */
MUST_CHECK enum tn_status poke_find_ports(const struct arena *arena, const struct place *place,
                                          struct poke_ports *out, struct error *error);

struct poke {
    uint32_t connections; /* That were accepted, all in all. */
    uint32_t held_count;
    int held[POKE_HELD_MAX]; /* Left hanging. Owned. */
};

/* A volley: one connection of each kind. */
void poke_port(struct poke *poke, struct random *random, const char *address, uint16_t port,
               bool is_zookeeper);
/* Close what hangs. */
void poke_let_go(struct poke *poke);

#endif
