/*
 * agent/kill_requests.h: orders to signal a node, as others write them into /kills. For an agent
 * that allows it. Each is told once and deleted; level-triggered, so that none is missed while the
 * connection is. Pure but for the port.
 *
 * Threads: the owner's.
 */
#ifndef AGENT_KILL_REQUESTS_H
#define AGENT_KILL_REQUESTS_H

#include "common/cluster/znodes.h"
#include "common/zk/mirror.h"

struct kill_seat {
    struct task task;
    struct mirror mirror;
    uint64_t told_zxid; /* The order that was told last, by the transaction that created it. */
    uint64_t delete_op; /* In flight; 0: none. */
};

struct kill_requests {
    uint32_t count; /* 0: orders are not looked at. */
    struct kill_seat list[TASKS_MAX];
    uint64_t next_op;
};

/* Look for orders to these tasks, from now on or over a new session. It uses request numbers from
 * `next_op` to there + 2^32. `orders` is zeroed before the first call. */
void kill_requests_start(struct kill_requests *orders, const char *cluster,
                         const struct task *tasks, uint32_t count, uint64_t next_op,
                         const struct zk_port *zk, uint64_t now_ms);

/* Show it every ZooKeeper event. True: there is a new order, for `*task`. */
bool kill_requests_handle(struct kill_requests *orders, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t now_ms, struct task *task,
                          struct kill_request *out);

void kill_requests_tick(struct kill_requests *orders, const struct zk_port *zk, uint64_t now_ms);
uint64_t kill_requests_deadline_ms(const struct kill_requests *orders);

#endif
