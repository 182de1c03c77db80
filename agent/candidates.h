/*
 * agent/candidates.h: which znode of /election belongs to which session. The agent keeps this table
 * up to date so that it can delete the znode of a dead candidate at once. Pure but for the port.
 *
 * Threads: the owner's only.
 */
#ifndef AGENT_CANDIDATES_H
#define AGENT_CANDIDATES_H

#include "common/cluster/znodes.h"
#include "common/zk/znode_watch.h"

enum { CANDIDATES_MAX = 2 * COORDINATORS_MAX };

struct candidate {
    char path[ZK_PATH_MAX];
    uint64_t session; /* 0: not read yet. */
    uint64_t op;      /* The read in flight. */
};

struct candidates {
    struct znode_watch watch;
    char folder[ZK_PATH_MAX];
    uint64_t next_op;
    uint32_t count;
    struct candidate list[CANDIDATES_MAX];
};

/* Start, or start again with a new session. Uses request numbers from `next_op` to next_op +
 * 2^32. */
void candidates_start(struct candidates *candidates, const char *cluster, uint64_t next_op,
                      const struct zk_port *zk, uint64_t now_ms);
/* Pass every ZooKeeper event. */
void candidates_handle(struct candidates *candidates, const struct zk_event *event,
                       const struct zk_port *zk, uint64_t now_ms);
void candidates_tick(struct candidates *candidates, const struct zk_port *zk, uint64_t now_ms);
uint64_t candidates_deadline_ms(const struct candidates *candidates);

/* The path of the znode that `session` owns; NULL if no such znode is known. */
const char *candidates_of_session(const struct candidates *candidates, uint64_t session);

#endif
