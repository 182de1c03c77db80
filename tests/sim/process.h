/*
 * tests/sim/process.h: a process of the simulated world: the code of a role behind modelled ports.
 * It can be killed at any moment, frozen, and thawed after its session has expired. A worker that
 * computes handles no event meanwhile, and what it sends leaves when it is computed.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "common/node/node.h"
#include "tests/sim/disk_model.h"
#include "tests/sim/net_model.h"
#include "tests/sim/world.h"
#include "tests/sim/zk_model.h"
#include "worker/row_sharing.h"

struct process;

/* Called when a process exits by itself, not when it is killed. */
typedef void (*process_ended)(void *ctx, struct process *process, int exit_code);

struct process_config {
    struct world *world;
    struct zk_model *zk;
    struct net_model *net;
    struct disk_model *disk;
    uint32_t host;
    uint64_t incarnation;
    uint64_t cluster_key;
    uint32_t session_timeout_ms;
    int32_t clock_drift_ppm; /* Its clock is faster by this much. */
    uint64_t slice_us;       /* The time that a worker needs for a slice. */
    process_ended ended;
    process_ended died; /* `dies` was set. */
    void *ctx;
};

struct process {
    struct process_config config;
    struct task task;
    bool alive, frozen; /* Frozen: stopped by a signal, or computing. */
    bool stopped, computing;
    uint64_t drained_us;   /* When it was last asked to leave as soon as no work is lost; or 0. */
    bool ordered_to_leave; /* At once. */
    bool signalled;
    enum node_event_type signal; /* If signalled: it comes when the process has computed. */
    uint64_t computed_us;        /* The time of the arithmetic in the present delivery. */
    struct zk_client *zk;
    struct net_endpoint *endpoint;
    struct disk_user *store;
    struct node_ports ports;
    struct node node;
    void (*destroy)(void *self);
    uint64_t tick_at_us; /* Time of the earliest scheduled tick; 0: none. */
    uint64_t started_us;
    void *kept; /* A ps's struct kept_memory; freed after the node. NULL: none. */
    /* For a worker, which has the place of its index; NULL: not shared. */
    struct row_sharing *sharing;
    bool dies;      /* It is killed at the end of the present delivery, in which it is muted. */
    uint32_t depth; /* Nested deliveries; at most one. */
};

/* Creates a process for `task` with its ports. The caller sets `node` and `destroy`, and starts
 * it. */
struct process *process_create(const struct process_config *config, struct task task);
void process_start(struct process *process);
/* SIGKILL. `silently`: the host lost power, so its connections are not closed. */
void process_kill(struct process *process, bool silently);
void process_freeze(struct process *process, bool frozen);
/* SIGTERM, as NODE_DRAIN or NODE_LEAVE; lost if the process is stopped. */
void process_signal(struct process *process, enum node_event_type type);
/* Delivers a NODE_ROLE without content to the node, soon. */
void process_wake(void *process);
/* Delivers an event to the node, now. */
void process_deliver(struct process *process, const struct node_event *event);
/* The process whose event is being handled; NULL: none. */
struct process *process_running(void);
void process_free(struct process *process);

#endif
