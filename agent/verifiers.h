/*
 * agent/verifiers.h: requests to verify checkpoints (S10, common/cluster/verification.h). For each,
 * the agent starts a process that reads the shards in the agent's folder and answers, so that
 * neither the disk nor a damaged file can disturb the agent.
 *
 * Threads: the main thread.
 */
#ifndef AGENT_VERIFIERS_H
#define AGENT_VERIFIERS_H

#include <poll.h>

#include "agent/children.h"
#include "common/cluster/verification.h"
#include "common/zk/znode_watch.h"

enum { VERIFIERS_MAX = 4 };

/* The process for one request. */
struct verifier {
    char request[VERIFICATION_NAME_MAX];
    struct process process; /* pid 0: it has ended, but the request still exists. */
};

struct verifiers {
    struct children *children; /* Borrowed: for the environment. NULL: not started. */
    struct znode_watch watch;
    uint64_t next_op;
    uint32_t count;
    struct verifier list[VERIFIERS_MAX]; /* Further requests wait. */
};

/* Follow the requests; call it again for a new session. It uses request numbers from `next_op` to
 * next_op + 2^32. `verifiers` is zeroed before the first call. */
void verifiers_start(struct verifiers *verifiers, struct children *children, uint64_t next_op,
                     const struct zk_port *zk, uint64_t now_ms);

/* Pass every ZooKeeper event. Starts a process for each new request. */
void verifiers_handle(struct verifiers *verifiers, const struct zk_event *event,
                      const struct zk_port *zk, uint64_t now_ms);
void verifiers_tick(struct verifiers *verifiers, const struct zk_port *zk, uint64_t now_ms);
uint64_t verifiers_deadline_ms(const struct verifiers *verifiers);

/* The pidfds of the processes that run, at most VERIFIERS_MAX. Returns their number. */
nfds_t verifiers_poll(const struct verifiers *verifiers,
                      struct pollfd polled[static VERIFIERS_MAX]);

/* Reap the processes that have ended. */
void verifiers_reap(struct verifiers *verifiers, const struct zk_port *zk);

/* Kill the processes and reap them. May be called twice, and before the start. */
void verifiers_stop(struct verifiers *verifiers);

#endif
