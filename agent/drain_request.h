/*
 * agent/drain_request.h: the request of `tanist drain` for this host, a znode in /drains. The agent
 * deletes it to accept it (S11). Pure but for the port and the log.
 *
 * Threads: the owner's only.
 */
#ifndef AGENT_DRAIN_REQUEST_H
#define AGENT_DRAIN_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/request_watch.h"
#include "common/cluster/znodes.h"

struct drain_request {
    struct request_watch watch;
    uint64_t next_op;
};

/* Follow the request for the host with this address; call it again for a new session. It uses
 * request numbers from `next_op` to next_op + 2^32. `drain` is zeroed before the first call. */
void drain_request_start(struct drain_request *drain, const char *cluster, const char *host,
                         uint64_t next_op, const struct zk_port *zk, uint64_t now_ms);

/* Pass every ZooKeeper event. Not 0: the host is to be drained within that many milliseconds. */
uint32_t drain_request_handle(struct drain_request *drain, const struct zk_event *event,
                              const struct zk_port *zk, uint64_t now_ms);

void drain_request_tick(struct drain_request *drain, const struct zk_port *zk, uint64_t now_ms);
uint64_t drain_request_deadline_ms(const struct drain_request *drain); /* UINT64_MAX: none. */

#endif
