/*
 * chaos/inject/hostile_client.h: a client that misbehaves: it sends garbage, resets, half headers
 * and impossible lengths to listening ports, or nothing at all. Bytes are drawn from the seed. Some
 * connections stay open.
 *
 * It connects to addresses of the lab and of loopback only. Threads: the main thread. Blocking: up
 * to 10 ms per connection; about 1 ms to find the ports.
 */
#ifndef CHAOS_INJECT_HOSTILE_CLIENT_H
#define CHAOS_INJECT_HOSTILE_CLIENT_H

#include "chaos/cluster/targets.h"

enum {
    HOSTILE_CLIENT_PORTS_MAX = 16,
    HOSTILE_CLIENT_HELD_MAX = 64,
    HOSTILE_CLIENT_ADDRESS_MAX = 64
};

struct listening_ports {
    char address[HOSTILE_CLIENT_ADDRESS_MAX]; /* IPv4. */
    uint32_t count;
    uint16_t list[HOSTILE_CLIENT_PORTS_MAX];
};

/* The ports of a component: in a lab all that a node listens on, otherwise the known one.
 * TN_EAGAIN: none is known. */
MUST_CHECK enum tn_status hostile_client_find_ports(const struct target_cluster *cluster,
                                                    const struct component *component,
                                                    struct listening_ports *out,
                                                    struct error *error);

struct hostile_client {
    uint32_t connections; /* Accepted so far. */
    uint32_t held_count;
    int held[HOSTILE_CLIENT_HELD_MAX]; /* Open connections. Owned. */
};

/* Open one connection for each kind of misbehaviour. */
void hostile_client_attack(struct hostile_client *client, struct random *random,
                           const char *address, uint16_t port, bool is_zookeeper);
/* Close the connections that stayed open. */
void hostile_client_close(struct hostile_client *client);

#endif
