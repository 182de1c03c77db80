/*
 * chaos/inject/proxy.h: a process that stands between a node and everybody else: connections to and
 * from it are redirected here by the packet filter, passed on to where they were meant to go, and
 * what the node receives is late, or comes twice.
 *
 * Threads: proxy_start() on the main thread; the process has one. It dies with the harness.
 * Blocking: proxy_start() some 2 ms, proxy_stop() until it has ended.
 */
#ifndef CHAOS_INJECT_PROXY_H
#define CHAOS_INJECT_PROXY_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "chaos/cluster/lab.h"

struct proxy_config {
    uint32_t delay_ms;          /* What the node receives is late by 0 to delay_ms. */
    uint32_t duplicate_percent; /* So many of the frames it receives come twice. */
    uint64_t seed;
};

/* What it has done so far. */
struct proxy_counts {
    _Atomic uint64_t connections, bytes; /* Bytes towards the node. */
    _Atomic uint64_t frames, doubled;    /* Of those that come twice with some luck. */
};

struct proxy {
    pid_t pid;
    uint16_t port;               /* Redirect there; on all addresses of the place. */
    struct proxy_counts *counts; /* In memory that both share. Owned. */
};

/* Packets of its own connections have this mark: they are not to be redirected again. */
enum { PROXY_PACKET_MARK = 0x7a17 };

/* Start it in the network of `place`. TN_ENOTSUP, TN_EIO. */
MUST_CHECK enum tn_status proxy_start(const struct proxy_config *config, const struct lab *lab,
                                      const char *place, struct proxy *out, struct error *error);
/* End it, and all connections through it; what it did is added to `counts`,
 * which may be NULL. */
void proxy_stop(struct proxy *proxy, struct proxy_counts *counts);

#endif
