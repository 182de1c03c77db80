/*
 * agent/burial.h: telling the cluster that a node is dead. Over the agent's own session: the exit
 * note, then the removal of the election and member znodes of the dead one's session; when these
 * are answered, the session itself is closed by the undertaker (what it still has in flight is then
 * refused). Only then may a znode of the same name be the next incarnation's, so a late removal
 * never hits it.
 *
 * Threads: the owner's.
 */
#ifndef AGENT_BURIAL_H
#define AGENT_BURIAL_H

#include "agent/candidates.h"
#include "agent/observer.h"
#include "agent/undertaker.h"

enum { BURIALS_MAX = 64 };

struct burial {
    uint64_t last_op; /* 0: free. */
    struct zk_session session;
    char name[TASK_NAME_MAX];
};

struct burials {
    struct burial list[BURIALS_MAX];
};

/* Whom, and why. */
struct obituary {
    const char *cluster;
    struct task task;
    struct exit_note note;
    bool has_session;
    struct zk_session session;
};

/* `*next_op` counts request numbers. `zk` NULL: not connected, only the session is closed. */
void burial_begin(struct burials *burials, const struct obituary *obituary,
                  const struct observer *observer, const struct candidates *candidates,
                  const struct zk_port *zk, uint64_t *next_op, struct undertaker *undertaker);

/* Show it every ZooKeeper event. */
void burial_handle(struct burials *burials, const struct zk_event *event,
                   struct undertaker *undertaker);

/* Our own session is gone, and with it the answers: close what waits. */
void burial_hurry(struct burials *burials, struct undertaker *undertaker);

#endif
