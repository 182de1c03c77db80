/*
 * chaos/inject/proxy.h: a process between a node and all others. The packet filter redirects the
 * connections to and from the node to it; it relays them, and delays or repeats the bytes that the
 * node receives.
 *
 * Threads: proxy_start() on the main thread; the process has one. It dies with the harness.
 * Blocking: proxy_start() about 2 ms, proxy_stop() until the process has ended.
 */
#ifndef CHAOS_INJECT_PROXY_H
#define CHAOS_INJECT_PROXY_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "chaos/cluster/lab.h"

struct proxy_config {
    uint32_t delay_ms;          /* Received bytes are late by 0 to delay_ms. */
    uint32_t duplicate_percent; /* Share of received frames that arrive twice. */
    uint64_t seed;
};

/* Totals so far. */
struct proxy_counts {
    _Atomic uint64_t connections, bytes; /* Bytes that the node receives. */
    _Atomic uint64_t frames, doubled;    /* Frames that it receives; those that arrived twice. */
};

struct proxy {
    pid_t pid;
    uint16_t port; /* Redirect connections there; on all addresses of the component. */
    struct proxy_counts *counts; /* In memory that the process shares. Owned. */
};

/* The mark of packets of its own connections, which must not be redirected. */
enum { PROXY_PACKET_MARK = 0x7a17 };

/* Start it in the network of `component`. TN_ENOTSUP, TN_EIO. */
MUST_CHECK enum tn_status proxy_start(const struct proxy_config *config, const struct lab *lab,
                                      const char *component, struct proxy *out,
                                      struct error *error);
/* End it, and all connections through it. Adds its totals to `counts`, which may be NULL. */
void proxy_stop(struct proxy *proxy, struct proxy_counts *counts);

#endif
