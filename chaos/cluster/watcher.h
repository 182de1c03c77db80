/*
 * chaos/cluster/watcher.h: a round's cluster as the harness sees it from outside: its processes
 * (/proc), its orders and history (ZooKeeper), how far its ps are (asked of them). All that changes
 * goes into the round's history, and what injectors need into the cluster.
 *
 * Threads: the main thread. Blocking: watcher_poll() for the time it is given, and once for up to
 * 2 s when a run has (re)started and its cluster is read.
 */
#ifndef CHAOS_CLUSTER_WATCHER_H
#define CHAOS_CLUSTER_WATCHER_H

#include "chaos/cluster/targets.h"
#include "chaos/history/history.h"

struct watcher;

struct cluster_view {
    bool has_run;
    enum run_phase phase;
    uint64_t phase_count[RUN_PHASES]; /* How often each phase was entered, as far as it was seen. */
    uint64_t generation, step;        /* The ps that is least far. */
    uint64_t training_began_ms;       /* Monotonic; 0: not yet. */
    uint64_t training_ended_ms;       /* The last step was made. */
    uint64_t advanced_ms;             /* When the step last grew. */
};

/* Borrows both. NULL: out of memory. */
struct watcher *watcher_create(struct target_cluster *cluster, struct history_file *history);
void watcher_destroy(struct watcher *watcher); /* NULL is allowed. */

/* Take in what happens for up to `timeout_ms`; `now_ms` is the time after. */
void watcher_poll(struct watcher *watcher, uint32_t timeout_ms);

const struct cluster_view *watcher_view(const struct watcher *watcher);

/* Ask the ensemble who leads it: sets cluster->zookeeper_leader. Blocks for up to 100 ms a server,
 * on one that does not answer. */
void watcher_find_leader(struct watcher *watcher);

#endif
