/*
 * cli/inspect/spare_hosts.h: the hosts that wait as spares for tasks which others hold, from the
 * znodes of agent/spares.h.
 *
 * Threads: the main thread. Blocking: spare_hosts_read() on ZooKeeper, for a bounded time.
 */
#ifndef CLI_INSPECT_SPARE_HOSTS_H
#define CLI_INSPECT_SPARE_HOSTS_H

#include <jansson.h>

#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

struct spare_hosts {
    uint32_t count;
    struct member list[TASKS_MAX]; /* The task, and the agent that waits for it. */
};

/* TN_OK also when no host has ever been a spare. Errors: those of zk_sync_list(). */
MUST_CHECK enum tn_status spare_hosts_read(struct spare_hosts *spares, struct zk_sync *sync,
                                           const char *cluster, struct error *error);

/* [{task, host, pid, since}]: a new reference. */
json_t *spare_hosts_json(const struct spare_hosts *spares);

/* A line for each; nothing without spares. */
void spare_hosts_print(const struct spare_hosts *spares);

#endif
