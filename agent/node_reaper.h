/*
 * agent/node_reaper.h: removes what a dead node left in ZooKeeper, in three steps:
 *
 *  1. Over the agent's own session it records the exit of the node in /exits.
 *  2. Over the same session it deletes those election and member znodes that the dead node's
 * session owns, so that the cluster learns of the death at once.
 *  3. When ZooKeeper has answered these requests, it hands the session to the session reaper, which
 *     closes it: ZooKeeper then refuses what the dead node still had in flight.
 *
 * The old znodes exist until step 2 deletes them (unless the session expires in the meantime), and
 * the next incarnation cannot register before; so these deletions do not hit its znodes. If the
 * session does expire in the meantime, a slow deletion may remove the registration of the next
 * incarnation. No version could prevent that: both znodes are of version 0. It costs a restart,
 * since a node without its registration ends (R3), and never a result.
 *
 * Threads: the owner's.
 */
#ifndef AGENT_NODE_REAPER_H
#define AGENT_NODE_REAPER_H

#include "agent/candidates.h"
#include "agent/observe/observer.h"
#include "agent/session_reaper.h"

enum { REAPS_MAX = 64 };

/* A dead node between the steps 2 and 3. */
struct reap {
    uint64_t last_op; /* The last request of the steps 1 and 2; 0: this entry is free. */
    struct zk_session session;
    char name[TASK_NAME_MAX];
};

/* Zeroed before first use. */
struct node_reaper {
    struct reap list[REAPS_MAX];
};

/* The dead node and the cause of its end. */
struct dead_node {
    const char *cluster;
    struct task task;
    struct exit_note note;
    bool has_session;
    bool left;           /* It exited with 0: another process may have its task. */
    bool shares_session; /* Another node of the process follows, with which it is closed. */
    struct zk_session session;
};

/* Start reaping `node`. `next_op` counts the request numbers of `zk`. With `zk` NULL (the agent is
 * not connected) only the session is closed. */
void node_reaper_begin(struct node_reaper *reaper, const struct dead_node *node,
                       const struct observer *observer, const struct candidates *candidates,
                       const struct zk_port *zk, uint64_t *next_op,
                       struct session_reaper *session_reaper);

/* Pass every ZooKeeper event. */
void node_reaper_handle(struct node_reaper *reaper, const struct zk_event *event,
                        struct session_reaper *session_reaper);

/* The agent's own session ended, so no more answers arrive: close all sessions in step 2 now. */
void node_reaper_abandon(struct node_reaper *reaper, struct session_reaper *session_reaper);

#endif
