/*
 * common/node/node.h: the interface of every role: a reactor. It receives events and acts through
 * ports. It owns no thread, reads no clock and never blocks, except for arithmetic. In production
 * common/node/runtime.c drives it with the real ports; in tests/sim the simulator does.
 */
#ifndef COMMON_NODE_NODE_H
#define COMMON_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/memory_alias.h"
#include "common/cluster/znodes.h"
#include "common/net/transport.h"
#include "common/zk/zk.h"

/* A node that was asked to drain leaves after this time in any case. */
enum { NODE_DRAIN_MS = 60000 };

/* The incarnation of a node in a process with several: that of the first node is the process's. */
static inline uint64_t node_incarnation(uint64_t first, uint32_t place)
{
    return (first - 1 + place) % INT64_MAX + 1;
}

/* Measures arithmetic, the one thing by which a node blocks. */
struct stopwatch_port {
    void *ctx;
    /* Nanoseconds since some moment, after `slices` slices were computed since the last call. Only
     * the simulator, in which arithmetic takes no time of its own, looks at `slices`. */
    uint64_t (*read_ns)(void *ctx, uint64_t slices);
};

struct node_ports {
    struct zk_port zk;
    struct transport_port transport;
    struct buffer_pool *buffers;
    struct stopwatch_port stopwatch;
    struct memory_port memory;
};

/* The identity of a node; copied into the state of its role. */
struct node_identity {
    struct task task;
    uint64_t incarnation;
    uint64_t pid;
    char cluster[CLUSTER_NAME_MAX];
    char host[HOST_NAME_MAX_BYTES];
    char machine[MACHINE_MAX];           /* machine_identity() */
    char address[TRANSPORT_ADDRESS_MAX]; /* Where peers dial the node; of a worker, its host. */
    uint32_t session_timeout_ms;
};

enum node_event_type {
    NODE_START, /* The first event: ports may be used from here on. */
    NODE_TICK,  /* `deadline_ms()` has passed. */
    NODE_ZK,
    NODE_TRANSPORT, /* The body's reference passes to the node. */
    NODE_ROLE,      /* An event of the role's own port (a `struct store_event` for a ps). */
    NODE_LEAVE,     /* The node is to leave in good order, now (SIGINT, or SIGTERM again). */
    NODE_DRAIN,     /* The node is to leave as soon as that loses no work (SIGTERM). */
};

struct node_event {
    enum node_event_type type;
    uint64_t now_ms;  /* Monotonic; never decreases. */
    uint64_t wall_ms; /* For records only. */
    union {
        const struct zk_event *zk;
        const struct transport_event *transport;
        const void *role;
    };
};

/* A role as its runtime uses it. */
struct node {
    void *self;
    void (*handle)(void *self, const struct node_event *event);
    uint64_t (*deadline_ms)(const void *self); /* When to deliver NODE_TICK; UINT64_MAX: never. */
    bool (*finished)(const void *self, int *exit_code); /* No event is delivered afterwards. */
};

#endif
