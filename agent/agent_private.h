/*
 * agent/agent_private.h: the agent's own struct, shared by the files that drive it: agent.c has the
 * children and the loop, agent_zk.c the ZooKeeper session. Private to agent/.
 *
 * Threads: the main thread.
 */
#ifndef AGENT_AGENT_PRIVATE_H
#define AGENT_AGENT_PRIVATE_H

#include <signal.h>

#include "agent/agent.h"
#include "agent/children.h"
#include "agent/kill_requests.h"
#include "agent/node_reaper.h"
#include "common/zk/zk_inbox.h"

enum { TICK_MS = 500 };

/* Request numbers of reaper; below it are those of agent_zk.c. */
#define OPS_REAP (UINT64_C(3) << 32)

struct agent {
    const struct agent_config *config;
    struct agent_result *result;
    struct supervisor supervisor;
    struct children children;
    struct zk_inbox *inbox;
    struct zk *zk;
    struct zk_port port;
    struct session_reaper *session_reaper;
    struct node_reaper reaper;
    struct candidates candidates;
    struct observer *observer; /* Owned. */
    struct kill_requests kill_requests;
    bool connected, observing, prepared, over;
    bool reopened; /* Our session is another one: what it finds is not looked at yet. */
    int signals;   /* A signalfd. */
    sigset_t mask_before;
    uint64_t next_op, now_ms, started_ms, say_at_ms, tick_at_ms, restore_at_ms;
    enum tn_status status; /* Why we end, if not by the job or a signal. */
    struct error error;
};

/* An event for the supervisor; its actions are carried out. */
void agent_feed(struct agent *agent, enum supervisor_event_type type, uint32_t child, int exit_code,
                int signal_number);

/* To the owner. `text` may be NULL. */
void agent_tell(struct agent *agent, enum agent_event_type type, const char *text);

/* The first reason counts; everything is stopped. `agent->error` says why. */
void agent_give_up(struct agent *agent, enum tn_status status);

/* Begin a session; what it tells arrives in the inbox. Errors: those of zk_open(). */
MUST_CHECK enum tn_status agent_open_zk(struct agent *agent, struct error *error);

/* Handle all that has arrived. */
void agent_drain_zk(struct agent *agent);

/* An order to signal one of our nodes; one that means a former incarnation is dropped. */
void agent_obey(struct agent *agent, struct task task, const struct kill_request *order);

/* After a new session: the persistent znodes are made again where they are missing, when due. */
void agent_restore(struct agent *agent);

/* Before the servers go: sessions are closed while there is somebody to tell. */
void agent_leave_zk(struct agent *agent);

#endif
