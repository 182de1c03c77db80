/*
 * common/node/worker_watch.h: the znodes that a worker follows beside those of its membership: the
 * registrations of the nodes that it connects to (ps, or without ps the other workers), and
 * /assignment. Part of the drivers of workers.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef COMMON_NODE_WORKER_WATCH_H
#define COMMON_NODE_WORKER_WATCH_H

#include "common/cluster/roster.h"
#include "common/cluster/slices.h"
#include "common/node/membership.h"
#include "common/node/peer_links.h"

enum worker_watch_change {
    WORKER_WATCH_NOTHING,
    WORKER_WATCH_RESTARTED, /* The open connection to `peer`, a new incarnation, was closed. */
    WORKER_WATCH_ASSIGNED,  /* `assignment` was read. */
    WORKER_WATCH_WORKER,    /* Worker `peer` has appeared, vanished, or is another process. */
};

struct worker_watch {
    bool is_following; /* Since there is a session. */
    uint32_t peer;
    struct assignment assignment;
    /* Private: */
    enum role role;
    uint32_t slices, workers;
    struct links *links;
    struct membership *membership;
    struct roster roster;
    struct znode_watch assignment_watch;
};

/* Follow the tasks of `role` that `links` has, except the worker itself, and an assignment of
 * `slices` slices. `links` and `membership` outlive the watch. */
void worker_watch_init(struct worker_watch *watch, enum role role, uint32_t slices,
                       struct links *links, struct membership *membership);

/* For a member of a group, follow `workers` workers, too. Call it before the first event. */
void worker_watch_follow_workers(struct worker_watch *watch, uint32_t workers);
/* Worker `index` as it is registered; NULL: it is not. Of those that are followed beside the ps. */
const struct member *worker_watch_worker(const struct worker_watch *watch, uint32_t index);

/* Whether node `index`, of those that `links` has, was registered last on the machine of the worker
 * itself (common/base/machine.h). False if it is not known. */
bool worker_watch_is_near(const struct worker_watch *watch, uint32_t index);

/* Pass every ZooKeeper event. An assignment that is not one of this job is logged and ignored. */
enum worker_watch_change worker_watch_handle(struct worker_watch *watch,
                                             const struct zk_event *event, uint64_t now_ms);
void worker_watch_tick(struct worker_watch *watch, uint64_t now_ms);
uint64_t worker_watch_deadline_ms(const struct worker_watch *watch);

/* W9: whether other nodes wait for the gradients of this worker, which owns the slices `owned`. */
bool worker_watch_is_awaited(const struct worker_watch *watch, const struct slice_set *owned);

#endif
