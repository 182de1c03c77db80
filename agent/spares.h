/*
 * agent/spares.h: the tasks for which this host is a spare, as ephemeral znodes in /spares, so that
 * `tanist status` can show them. Pure but for the port.
 *
 * Threads: the owner's only.
 */
#ifndef AGENT_SPARES_H
#define AGENT_SPARES_H

#include "agent/supervisor.h"
#include "common/cluster/znodes.h"
#include "common/zk/zk.h"

struct spare {
    bool wanted, exists;
    bool lacks_folder;    /* /spares must be created first. */
    bool creates, folder; /* The request in flight. */
    uint64_t op;          /* 0: none is in flight. */
    uint64_t retry_at_ms;
    char path[ZK_PATH_MAX];
    struct member member; /* This agent, for the task. */
};

struct spares {
    uint64_t next_op;
    char cluster[CLUSTER_NAME_MAX];
    struct spare list[SUPERVISOR_CHILDREN_MAX]; /* By the index of the child. */
};

/* `next_op`: the first of 2^32 request numbers. */
void spares_init(struct spares *spares, const char *cluster, uint64_t next_op);

/* Task `index` of this agent waits as a spare. `member` names the task and this agent; its
 * incarnation makes the znode's name unique. */
void spares_add(struct spares *spares, uint32_t index, const struct member *member);
void spares_remove(struct spares *spares, uint32_t index);

/* The session is a new one: the znodes of the previous one do not exist. */
void spares_restart(struct spares *spares);

/* Pass every event; call spares_drive() after changes and at each tick. */
void spares_handle(struct spares *spares, const struct zk_event *event, uint64_t now_ms);
void spares_drive(struct spares *spares, const struct zk_port *zk, uint64_t now_ms);

#endif
