/*
 * common/cluster/requests.h: requests of an operator, sent as znodes: to the chief, or to an agent
 * to signal one of its nodes.
 *
 * Threads: those of zk_sync. Blocking: every call; each also fails as zk_sync_write() does.
 */
#ifndef COMMON_CLUSTER_REQUESTS_H
#define COMMON_CLUSTER_REQUESTS_H

#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

/* A request to the chief, by which its sender finds it again. */
struct sent_request {
    char prefix[32]; /* Start of the znode's name, unique to this request. */
};

/* Send a request to the chief, which carries it out when it reads it. Time and sender are filled
 * in. It expires with the session of `sync`: close that only after the effect, or to give the
 * request up. */
MUST_CHECK enum tn_status request_send(struct zk_sync *sync, const char *cluster,
                                       const struct request *request, struct sent_request *sent,
                                       struct error *error);

/* TN_OK: the request waits; TN_ENOENT: the chief has granted it; values that are read from now on
 * show that. */
MUST_CHECK enum tn_status request_find(struct zk_sync *sync, const char *cluster,
                                       const struct sent_request *sent, struct error *error);

/* TN_OK: the request was withdrawn, and nothing was done; TN_ENOENT: the chief has granted it. */
MUST_CHECK enum tn_status request_withdraw(struct zk_sync *sync, const char *cluster,
                                           const struct sent_request *sent, struct error *error);

/* The node that holds a task now: "ps:1", or "chief". TN_EINVAL: not the name of a task; TN_EAGAIN:
 * no node holds it. */
MUST_CHECK enum tn_status request_find_member(struct zk_sync *sync, const char *cluster,
                                              const char *task, struct member *out,
                                              struct error *error);

/*
 * Ask the agent of `member` to send it a signal, and wait until the agent has taken the request. If
 * the member has died meanwhile, its successor is not signalled.
 *
 *   TN_EUNHEALTHY  no agent has taken the request within `wait_ms`, and it was withdrawn: no agent
 *                  that allows it runs the task
 */
MUST_CHECK enum tn_status request_kill(struct zk_sync *sync, const char *cluster,
                                       const struct member *member, enum kill_signal signal,
                                       uint32_t wait_ms, struct error *error);

#endif
