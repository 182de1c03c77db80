/*
 * agent/agent_private.h: the agent's own struct, shared by its files: agent.c has the children
 * and the loop, agent_tasks.c the list of tasks, agent_change.c changes of the job, agent_zk.c the
 * ZooKeeper session. Private to agent/.
 *
 * Threads: the main thread.
 */
#ifndef AGENT_AGENT_PRIVATE_H
#define AGENT_AGENT_PRIVATE_H

#include <signal.h>

#include "agent/agent.h"
#include "agent/children.h"
#include "agent/drain_request.h"
#include "agent/job_change.h"
#include "agent/kill_requests.h"
#include "agent/node_reaper.h"
#include "agent/spares.h"
#include "agent/verifiers.h"
#include "common/zk/zk_inbox.h"

enum { TICK_MS = 500 };

/* The first request number of the node reaper; agent_zk.c has the other ranges. */
#define OPS_REAP   (UINT64_C(3) << 32)
#define OPS_KILLS  (UINT64_C(4) << 32)
#define OPS_CHANGE (UINT64_C(8) << 32)

struct agent {
    const struct agent_config *config;
    struct agent_result *result;
    struct supervisor supervisor;
    struct children children;
    struct zk_inbox *inbox;
    struct zk *zk;
    struct zk_port port;
    struct session_reaper *session_reaper;
    struct node_reaper node_reaper;
    struct candidates candidates;
    struct observer *observer; /* Owned. */
    struct kill_requests kill_requests;
    struct drain_request drain_request;
    struct verifiers verifiers;
    struct spares spares;
    struct job_change change;
    bool connected, observing, prepared, over;
    bool prepares_later; /* The last call of `prepare` returned TN_EAGAIN. */
    bool lost;     /* Another program deleted the cluster, and restore() has not succeeded since. */
    bool reopened; /* The session is a new one, and restore() has not succeeded since. */
    int signals;   /* A signalfd. */
    sigset_t mask_before;
    uint64_t connect_at_ms; /* When to ask the agent's own servers; UINT64_MAX: it is done. */
    uint64_t next_op, now_ms, started_ms, notify_at_ms, tick_at_ms, restore_at_ms;
    uint64_t prepare_at_ms; /* When to try again to create the cluster; 0: not tried yet. */
    enum tn_status status;  /* Why the agent stops, if neither by the job nor by a signal. */
    struct error error;
};

/* Feed an event to the supervisor and carry out its actions. */
void agent_feed(struct agent *agent, enum supervisor_event_type type, uint32_t child, int exit_code,
                int signal_number);

/* For events that need other members than these. */
void agent_feed_event(struct agent *agent, const struct supervisor_event *event);

/* Whether the agent keeps the job running: it is not about to leave. */
bool agent_works(const struct agent *agent);

/* S14: follow the requests to change the job, if the owner allows it; again with a new session. */
void agent_watch_change(struct agent *agent);
/* Pass every ZooKeeper event, every new entry of the history, and DO_CHANGE. */
void agent_change_event(struct agent *agent, const struct zk_event *event);
void agent_change_note(struct agent *agent);
void agent_change_stopped(struct agent *agent);
void agent_change_tick(struct agent *agent);
uint64_t agent_change_deadline_ms(const struct agent *agent);

/* S13: whether a process of `task` runs on this host from now on. A task that the agent does not
 * have yet is added when it is wanted; if that is impossible, it is logged. */
void agent_want(struct agent *agent, struct task task, bool wanted);

/* C22: the workers with these indexes run, from 0 to workers - 1; 0: as many as the job begins
 * with.
 */
void agent_choose_workers(struct agent *agent, uint32_t workers);

/* Follow the requests to signal the nodes of this agent, if it takes them (S8). */
void agent_watch_kills(struct agent *agent);

/* Let the nodes leave, without the loss of a step if that is possible within `within_ms`. */
void agent_drain(struct agent *agent, uint32_t within_ms);

/* Notify the owner. `text` may be NULL. */
void agent_notify(struct agent *agent, enum agent_event_type type, const char *text);

/* Stop all children because of a failure; only the first one counts. `agent->error` describes
 * it. */
void agent_give_up(struct agent *agent, enum tn_status status);
/* Give up if the agent's folder was removed: nothing can be saved. */
void agent_check_folder(struct agent *agent);

/* Open a session; its events arrive in the inbox. Errors: those of zk_open(). */
MUST_CHECK enum tn_status agent_open_zk(struct agent *agent, struct error *error);

/* Create the cluster once ZooKeeper answers, and again if that is interrupted; then start the
 * nodes.
 */
void agent_prepare(struct agent *agent);

/* Open the first session, once a server of the agent's own ensemble serves. */
void agent_connect(struct agent *agent);

/* Handle all events that have arrived. */
void agent_drain_zk(struct agent *agent);

/* Carry out a request to signal a node; one for a former incarnation is ignored. */
void agent_signal_node(struct agent *agent, struct task task, const struct kill_request *request);

/* Node `index` waits as a spare: announce it, and feed the present state of its task. */
void agent_become_spare(struct agent *agent, uint32_t index);

/* After a new session: call restore(), when it is due. */
void agent_restore(struct agent *agent);

/* Begin to close the sessions of all dead nodes; the session reaper's descriptor is readable when
 * that is done. */
void agent_close_sessions(struct agent *agent);

/* Leave ZooKeeper: close the agent's own session, or leave it and those of dead nodes to their
 * timeouts. Both may be called when the agent has left. */
void agent_close_zk(struct agent *agent);
void agent_abandon_zk(struct agent *agent);

#endif
