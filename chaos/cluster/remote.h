/*
 * chaos/cluster/remote.h: a cluster that the harness reaches only through its ZooKeeper: signals to
 * nodes by way of agents that were started with --allow-chaos (rule S8), and requests to the chief.
 *
 * Threads: one at a time. Blocking: remote_signal() until the agent has taken the order, about 20
 * ms, at most 4 s; each call for up to 5 s while ZooKeeper cannot be reached.
 */
#ifndef CHAOS_CLUSTER_REMOTE_H
#define CHAOS_CLUSTER_REMOTE_H

#include "chaos/cluster/targets.h"
#include "common/cluster/znodes.h"

struct zk_sync;

struct remote {
    char connect[1024], cluster[CLUSTER_NAME_MAX], credentials[256];
    struct zk_sync *sync; /* NULL: the next call connects. */
};

/* Copies all three; `credentials` may be NULL. Does not connect yet. */
void remote_init(struct remote *remote, const char *connect, const char *cluster,
                 const char *credentials);
void remote_close(struct remote *remote);

/* The member that runs a task now ("ps:1" or "chief"). TN_EAGAIN: none does. */
MUST_CHECK enum tn_status remote_find(struct remote *remote, const char *task, struct member *out,
                                      struct error *error);

/* Send a signal to that incarnation, never to its successor. TN_EUNHEALTHY: no agent with
 * --allow-chaos runs it. */
MUST_CHECK enum tn_status remote_signal(struct remote *remote, const struct member *member,
                                        enum kill_signal signal, struct error *error);

/* Send a request to the chief: REQUEST_RESIGN, REQUEST_PAUSE, REQUEST_RESUME, ... Does not wait for
 * its effect. */
MUST_CHECK enum tn_status remote_request(struct remote *remote, enum request_kind kind,
                                         struct error *error);

#endif
