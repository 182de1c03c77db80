/*
 * chaos/cluster/watcher.h: observes the target cluster from outside: its processes in /proc, its
 * orders and history in ZooKeeper, and the steps of its ps, which it polls. Changes are recorded in
 * the round's history; what injectors need (pids, addresses, the chief) is set in the cluster.
 *
 * Threads: the main thread. Blocking: watcher_poll() for the time it is given, and once for up to
 * 2 s after the run has started, to read the cluster's znodes.
 */
#ifndef CHAOS_CLUSTER_WATCHER_H
#define CHAOS_CLUSTER_WATCHER_H

#include "chaos/cluster/targets.h"
#include "chaos/history/history.h"

struct watcher;

struct cluster_view {
    bool has_run; /* /run was read. */
    enum run_phase phase;
    uint64_t phase_count[RUN_PHASES]; /* How often each phase was seen to begin. */
    uint64_t generation, step;        /* The lowest step of any ps. */
    uint64_t training_began_ms;       /* Monotonic; 0: not yet. */
    uint64_t training_ended_ms;       /* When the last step was reached. */
    uint64_t advanced_ms;             /* When the step last changed. */
};

/* Borrows both. NULL: out of memory. */
struct watcher *watcher_create(struct target_cluster *cluster, struct history_file *history);
void watcher_destroy(struct watcher *watcher); /* NULL is allowed. */

/* Wait up to `timeout_ms` for ZooKeeper events, then handle them and do the periodic work. */
void watcher_poll(struct watcher *watcher, uint32_t timeout_ms);

const struct cluster_view *watcher_view(const struct watcher *watcher);

/* Ask each ZooKeeper server whether it leads, and set cluster->zookeeper_leader. Blocks for up to
 * 100 ms on each server that does not answer. */
void watcher_find_leader(struct watcher *watcher);

#endif
