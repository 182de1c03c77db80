/*
 * chaos/cluster/remote.h: attacks on a cluster of which we know nothing but its ZooKeeper: signals
 * by way of the agents that were started with --allow-chaos (rule S8), and wishes to the chief.
 *
 * Threads: one at a time. Blocking: remote_signal() until the agent has taken the order, some 20
 * ms, at most 4 s; each call up to 5 s while ZooKeeper is away.
 */
#ifndef CHAOS_CLUSTER_REMOTE_H
#define CHAOS_CLUSTER_REMOTE_H

#include "chaos/cluster/targets.h"
#include "common/cluster/znodes.h"

struct zk_sync;

struct remote {
    char connect[1024], cluster[CLUSTER_NAME_MAX], credentials[256];
    struct zk_sync *sync; /* NULL: to be opened by the next call. */
};

/* Copies all three; `credentials` may be NULL. Nothing is opened yet. */
void remote_init(struct remote *remote, const char *connect, const char *cluster,
                 const char *credentials);
void remote_close(struct remote *remote);

/* Who holds a task now: "ps:1", or "chief". TN_EAGAIN: nobody. */
MUST_CHECK enum tn_status remote_find(struct remote *remote, const char *task, struct member *out,
                                      struct error *error);

/* Send SIGKILL, SIGTERM, SIGSTOP or SIGCONT to that incarnation, or to nobody. TN_EINVAL: another
 * signal; TN_EUNHEALTHY: no agent that allows chaos runs it. */
MUST_CHECK enum tn_status remote_signal(struct remote *remote, const struct member *member,
                                        int number, struct error *error);

/* A wish to the chief: REQUEST_RESIGN, REQUEST_PAUSE, REQUEST_RESUME, ... Its effect is not waited
 * for. */
MUST_CHECK enum tn_status remote_request(struct remote *remote, enum request_kind kind,
                                         struct error *error);

#endif
