/*
 * common/cluster/requests.h: what an operator asks of a cluster, by a znode: a wish to the chief, a
 * signal to a task by way of its agent.
 *
 * Threads: those of zk_sync. Blocking: every call; each also fails as zk_sync_write() does.
 */
#ifndef COMMON_CLUSTER_REQUESTS_H
#define COMMON_CLUSTER_REQUESTS_H

#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

/* Write a wish; the chief grants it when it sees it. */
MUST_CHECK enum tn_status request_send(struct zk_sync *sync, const char *cluster,
                                       enum request_kind kind, struct error *error);

/* Who holds a task now: "ps:1", or "chief". TN_EINVAL: that is no task; TN_EAGAIN: nobody does. */
MUST_CHECK enum tn_status request_find_member(struct zk_sync *sync, const char *cluster,
                                              const char *task, struct member *out,
                                              struct error *error);

/*
 * Have `member` sent a signal by its agent, and wait until the agent has taken the order. A member
 * that has died meanwhile is spared, and so is its successor.
 *
 *   TN_EUNHEALTHY  nobody has taken it within `wait_ms`, and it was taken back: no agent that
 *                  allows it runs the task
 */
MUST_CHECK enum tn_status request_kill(struct zk_sync *sync, const char *cluster,
                                       const struct member *member, enum kill_signal signal,
                                       uint32_t wait_ms, struct error *error);

#endif
