/*
 * agent/candidates.h: which znode of /election belongs to which session, known in advance, so that
 * the agent can delete a dead chief's at once. Pure but for the port. Threads: the owner's only.
 */
#ifndef AGENT_CANDIDATES_H
#define AGENT_CANDIDATES_H

#include "common/cluster/znodes.h"
#include "common/zk/mirror.h"

enum { CANDIDATES_MAX = 2 * COORDINATORS_MAX };

struct candidate {
    char path[ZK_PATH_MAX];
    uint64_t session; /* 0: not read yet. */
    uint64_t op;      /* The read in flight. */
};

struct candidates {
    struct mirror mirror;
    char folder[ZK_PATH_MAX];
    uint64_t next_op;
    uint32_t count;
    struct candidate list[CANDIDATES_MAX];
};

/* Uses request numbers from `next_op` to next_op + 2^32. Also to begin again on a new session. */
void candidates_start(struct candidates *candidates, const char *cluster, uint64_t next_op,
                      const struct zk_port *zk, uint64_t now_ms);
void candidates_handle(struct candidates *candidates, const struct zk_event *event,
                       const struct zk_port *zk, uint64_t now_ms);
void candidates_tick(struct candidates *candidates, const struct zk_port *zk, uint64_t now_ms);
uint64_t candidates_deadline_ms(const struct candidates *candidates);

/* The path of the znode that `session` owns, or NULL: none that we know of. */
const char *candidates_of_session(const struct candidates *candidates, uint64_t session);

#endif
