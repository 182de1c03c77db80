/*
 * tests/sim/process.h: one node as a process of the simulated world: the very code of a role behind
 * modelled ports, that can be killed at any moment, frozen, and woken as a zombie.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "common/node/node.h"
#include "tests/sim/disk_model.h"
#include "tests/sim/net_model.h"
#include "tests/sim/world.h"
#include "tests/sim/zk_model.h"

struct process;

/* Called when a process has ended by itself, with its exit code; not when it was killed. */
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
    int32_t clock_drift_ppm; /* Its clock runs so much faster. */
    process_ended ended;
    void *ctx;
};

struct process {
    struct process_config config;
    struct task task;
    bool alive, frozen;
    struct zk_client *zk;
    struct net_endpoint *endpoint;
    struct disk_user *store;
    struct node_ports ports;
    struct node node;
    void (*destroy)(void *self);
    uint64_t tick_at_us; /* Of the earliest tick that is scheduled; 0: none. */
    uint64_t started_us;
    uint32_t depth; /* Nested deliveries: must stay at one. */
};

/* Set up ports for a process that is about to become `task`; then fill in node and destroy, and
 * start it. */
struct process *process_create(const struct process_config *config, struct task task);
void process_start(struct process *process);
/* SIGKILL. `silently`: its host lost power, peers are not told. */
void process_kill(struct process *process, bool silently);
void process_freeze(struct process *process, bool frozen);
/* Deliver any event of its own. */
void process_deliver(struct process *process, const struct node_event *event);
void process_free(struct process *process);

#endif
