/*
 * agent/node_reaper.h: telling the cluster that a node is dead. Over the agent's own session: the
 * exit note, then the removal of the election and member znodes of the dead one's session; when
 * these are answered, the session itself is closed by the session_reaper (what it still has in
 * flight is then refused). Only then may a znode of the same name be the next incarnation's, so a
 * late removal never hits it.
 *
 * Threads: the owner's.
 */
#ifndef AGENT_NODE_REAPER_H
#define AGENT_NODE_REAPER_H

#include "agent/candidates.h"
#include "agent/observe/observer.h"
#include "agent/session_reaper.h"

enum { REAPS_MAX = 64 };

struct reap {
    uint64_t last_op; /* 0: free. */
    struct zk_session session;
    char name[TASK_NAME_MAX];
};

struct node_reaper {
    struct reap list[REAPS_MAX];
};

/* Whom, and why. */
struct dead_node {
    const char *cluster;
    struct task task;
    struct exit_note note;
    bool has_session;
    struct zk_session session;
};

/* `*next_op` counts request numbers. `zk` NULL: not connected, only the session is closed. */
void node_reaper_begin(struct node_reaper *reaper, const struct dead_node *dead_node,
                       const struct observer *observer, const struct candidates *candidates,
                       const struct zk_port *zk, uint64_t *next_op,
                       struct session_reaper *session_reaper);

/* Show it every ZooKeeper event. */
void node_reaper_handle(struct node_reaper *reaper, const struct zk_event *event,
                        struct session_reaper *session_reaper);

/* Our own session is gone, and with it the answers: close what waits. */
void node_reaper_abandon(struct node_reaper *reaper, struct session_reaper *session_reaper);

#endif
