/*
 * agent/kill_requests.h: requests to signal a node, which other programs write into /kills. Used by
 * an agent that was started with --allow-chaos. Each request is reported once and then deleted. The
 * znodes are re-read after every loss of connection, so no request is missed. Pure but for the
 * port and the log.
 *
 * Threads: the owner's.
 */
#ifndef AGENT_KILL_REQUESTS_H
#define AGENT_KILL_REQUESTS_H

#include "agent/request_watch.h"
#include "common/cluster/znodes.h"

/* One task's znode in /kills. */
struct kill_entry {
    struct task task;
    struct request_watch watch;
};

struct kill_requests {
    uint32_t count; /* 0: not started; no request is read. */
    struct kill_entry list[TASKS_MAX];
    uint64_t next_op;
};

/* Follow the requests for these tasks; call it again for a new session. It uses request numbers
 * from `next_op` to next_op + 2^32. `requests` is zeroed before the first call. */
void kill_requests_start(struct kill_requests *requests, const char *cluster,
                         const struct task *tasks, uint32_t count, uint64_t next_op,
                         const struct zk_port *zk, uint64_t now_ms);

/* Follow the requests for one more task, which must not be followed yet. */
void kill_requests_add(struct kill_requests *requests, const char *cluster, struct task task,
                       const struct zk_port *zk, uint64_t now_ms);

/* Pass every ZooKeeper event. True: `*out` is a new request for `*task`. */
bool kill_requests_handle(struct kill_requests *requests, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t now_ms, struct task *task,
                          struct kill_request *out);

void kill_requests_tick(struct kill_requests *requests, const struct zk_port *zk, uint64_t now_ms);
uint64_t kill_requests_deadline_ms(const struct kill_requests *requests);

#endif
