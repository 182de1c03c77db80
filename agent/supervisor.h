/*
 * agent/supervisor.h: when each child of the agent is started, terminated, killed and reaped. A
 * pure state machine: events in, actions out; time is in the event. agent/agent.c drives it with
 * real processes, tests/sim with simulated ones.
 *
 * Rules:
 *  S1  A child that died is reaped first (its ZooKeeper session is closed) and restarted at once.
 *      Each run shorter than SUPERVISOR_SHORT_LIFE_MS delays the restart after the next end, by
 *      SUPERVISOR_DELAY_MS and then twice as long each time, up to SUPERVISOR_DELAY_MAX_MS.
 *  S2  A fault is an end that the child caused (an error's exit code, SIGSEGV, SIGABRT, ...) within
 *      SUPERVISOR_LONG_LIFE_MS of its start. After SUPERVISOR_FAULTS_MAX in a row the job fails.
 *      Signals from outside delay restarts, but never fail the job: a node that receives SIGSEGV
 *      from another process ends by SIGKILL (common/base/fault_signals.h), and no signal that ends
 *      a server is a fault. A run of SUPERVISOR_LONG_LIFE_MS resets faults and delay.
 *  S3  Exit codes that a restart cannot repair (arguments, invalid input, task taken) fail the job
 *      at once. TN_EXIT_SESSION_EXPIRED, DEPOSED and RESIGNED are not faults. Invalid input of a
 *      node whose GPU has failed, and that has not run for SUPERVISOR_LONG_LIFE_MS since, is a
 *      fault: a GPU that has disappeared may come back.
 *  S4  A process that runs although its member znode, seen before, has been absent for
 *      SUPERVISOR_FROZEN_MS was frozen for longer than its session: it is killed and restarted.
 *      One that was asked to leave has SUPERVISOR_GRACE_MS to exit.
 *  S5  When the job has ended, nothing is started. Nodes leave by themselves; they get SIGTERM
 *      after SUPERVISOR_LEAVE_MS, and SIGKILL SUPERVISOR_GRACE_MS later. When none runs, the
 *      sessions of the dead are closed, for SUPERVISOR_SESSIONS_MS in all; then servers get
 *      SIGTERM, or SIGKILL if they did not answer until then.
 *  S6  On the first request to stop, nodes get SIGTERM at once; on the second, all children get
 *      SIGKILL, and no session is waited for.
 *      On a request to drain, nodes are asked to leave as soon as no work is lost by it: first
 *      the ps, when none runs the workers, then the coordinators; they restart only before it is
 *      their turn. At the deadline, or on a request to stop, the rest is killed.
 *  S7  A node that exited with 0 may have learned of the job's end before the agent: it is
 *      restarted only after /run was read again, SUPERVISOR_ASK_MS later, and shows that the job
 *      continues.
 *  S9  With `spares`, a node that ended because another process holds its task waits as a spare. It
 *      is started again when its member znode has been missing for SUPERVISOR_SPARE_MS: longer than
 *      the agent of that process takes to restart it.
 *
 *  S12 The memory that a child has left is kept for the next process of its task only if the child
 *      was ended by SIGKILL, so by no error of its own that might have damaged it.
 *  S13 The list of children changes while the agent works: nodes are added, and each node is wanted
 *      or not. One that is not wanted is not started; if it runs, it is asked to leave as soon as
 *      no work is lost by it, and gets SIGKILL SUPERVISOR_UNWANTED_MS later. However it ends, the
 *      job does not fail. A node that is wanted again while it leaves is started when it has left.
 *  S14 A drain may be for a change of the job: when no node runs, the owner makes the change, and
 *      all wanted nodes start. At the deadline the rest is killed. A drain that is not for a change
 *      takes its place.
 *
 * Threads: the owner's only.
 */
#ifndef AGENT_SUPERVISOR_H
#define AGENT_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/task.h"

enum {
    SUPERVISOR_CHILDREN_MAX = TASKS_MAX + 3,
    SUPERVISOR_ACTIONS_MAX = 2 * SUPERVISOR_CHILDREN_MAX + 4,
    SUPERVISOR_SHORT_LIFE_MS = 1000,
    SUPERVISOR_LONG_LIFE_MS = 10000,
    SUPERVISOR_DELAY_MS = 100,
    SUPERVISOR_DELAY_MAX_MS = 5000,
    SUPERVISOR_FAULTS_MAX = 8,
    SUPERVISOR_FROZEN_MS = 500,
    SUPERVISOR_LEAVE_MS = 5000,
    SUPERVISOR_GRACE_MS = 5000,
    SUPERVISOR_SESSIONS_MS = 3000,
    SUPERVISOR_ASK_MS = 200,
    SUPERVISOR_SPARE_MS = 7000,
    SUPERVISOR_UNWANTED_MS = 90000, /* More than a node itself takes at most (W9). */
};

enum child_kind { CHILD_SERVER, CHILD_NODE };

/* The order in which nodes are drained: workers compute until no ps needs them, and the chief is
 * needed until the end. */
enum drain_stage { DRAIN_PS, DRAIN_WORKERS, DRAIN_COORDINATORS, DRAIN_STAGES };

enum supervisor_event_type {
    SUPERVISOR_START_SERVERS,
    SUPERVISOR_START_NODES,
    SUPERVISOR_SPAWNED,         /* The process of `child` runs. */
    SUPERVISOR_NOT_SPAWNED,     /* The system refused to start it; counts as a fault. */
    SUPERVISOR_EXITED,          /* `exit_code`, or `signal` if it is not 0. */
    SUPERVISOR_MEMBER_SEEN,     /* The member znode of the child's present process exists. */
    SUPERVISOR_MEMBER_LOST,     /* The child's member znode does not exist. */
    SUPERVISOR_MEMBER_TAKEN,    /* The member znode is that of a process on another host. */
    SUPERVISOR_JOB_CONTINUES,   /* /run was read: the job has not ended. */
    SUPERVISOR_JOB_ENDED,       /* /run was read: the job is done or has failed. */
    SUPERVISOR_SESSIONS_CLOSED, /* Answers DO_CLOSE_SESSIONS. */
    SUPERVISOR_WANTED,          /* S13: `child` is to run. This holds for all at the start. */
    SUPERVISOR_UNWANTED,        /* S13: `child`, a node, is not to run. */
    SUPERVISOR_DRAIN,           /* Until `until_ms`. */
    SUPERVISOR_CHANGED,         /* Answers DO_CHANGE. */
    SUPERVISOR_STOP,
    SUPERVISOR_TICK,
};

struct supervisor_event {
    enum supervisor_event_type type;
    uint64_t now_ms;
    uint32_t child;
    int exit_code, signal;
    uint64_t until_ms; /* DRAIN. */
    bool changes;      /* DRAIN: for a change (S14). */
};

enum supervisor_action_type {
    DO_SPAWN,
    DO_REAP_NODE, /* A node died: remove its znodes and session before the session times out. */
    DO_DRAIN,     /* Ask a node to leave as soon as no work is lost. */
    DO_TERMINATE, /* Ask a child to leave at once. */
    DO_KILL,      /* Send SIGKILL. */
    DO_SPARE,     /* Another process holds the task; answered by MEMBER_LOST or MEMBER_TAKEN. */
    DO_READ_RUN,  /* Read /run; answered by JOB_CONTINUES or JOB_ENDED. */
    DO_FAIL, /* The job cannot continue because of `child`. At most once; stopping has begun. */
    DO_CLOSE_SESSIONS,   /* No node runs: close all sessions, as far as ZooKeeper answers. Once. */
    DO_ABANDON_SESSIONS, /* Leave those that are still open to their timeouts. At most once. */
    DO_END,              /* No child runs any longer. Once. */
    DO_CHANGE,           /* S14: no node runs; answered by CHANGED. */
};

enum supervisor_verdict {
    VERDICT_NONE,
    VERDICT_CRASH_LOOP,
    VERDICT_PERMANENT, /* An exit code that a restart cannot repair. */
};

struct supervisor_action {
    enum supervisor_action_type type;
    uint32_t child;
    enum supervisor_verdict verdict; /* DO_FAIL */
};

struct supervisor_actions {
    uint32_t count;
    struct supervisor_action list[SUPERVISOR_ACTIONS_MAX];
};

struct supervised {
    enum child_kind kind;
    enum { CHILD_IDLE, CHILD_WAITING, CHILD_STARTING, CHILD_ALIVE } state;
    enum drain_stage stage; /* A node's. */
    bool unwanted;          /* S13. */
    bool drained;           /* DO_DRAIN was given for the present process. */
    uint64_t drained_ms;    /* When DO_DRAIN was given. */
    bool killed;            /* SIGKILL was sent to the present process. */
    bool terminated;
    bool member_seen;
    bool spare;              /* S9: it waits until its task is free. */
    bool left, asked;        /* S7: it exited with 0; /run is being read because of that. */
    uint64_t member_lost_ms; /* 0: its znode is not missing. */
    uint64_t started_ms, restart_at_ms;
    uint32_t delay_ms;     /* Before the next restart; 0: none. */
    uint32_t faults;       /* In a row. */
    bool device_in_doubt;  /* S3: since the last long run. */
    uint32_t starts;       /* Since the last change of the job. */
    int exit_code, signal; /* The last end. */
};

struct supervisor {
    enum {
        SUPERVISOR_WORKING,
        SUPERVISOR_DRAINING,
        SUPERVISOR_LEAVING,
        SUPERVISOR_STOPPING,
        SUPERVISOR_OVER
    } phase;
    uint64_t phase_ms; /* When it began. */
    bool started;      /* START_NODES was given. */
    bool spares;       /* Set by the owner: tasks have other hosts, and this one may be a spare. */
    bool gpus;         /* Set by the owner: nodes of the job use GPUs. */
    enum drain_stage stage; /* DRAINING. */
    uint64_t drain_until_ms;
    bool changes;    /* S14: this drain is for a change. */
    bool stopped;    /* S14: DO_CHANGE was given. */
    bool drained;    /* All nodes left as soon as no work was lost by it. */
    bool drain_lost; /* A ps was killed or failed when it was its turn to leave. */
    bool drain_late; /* The deadline of the drain passed. */
    bool failed;
    bool forced; /* A second request to stop was made. */
    enum { SESSIONS_OPEN, SESSIONS_CLOSING, SESSIONS_CLOSED, SESSIONS_ABANDONED } sessions;
    uint64_t sessions_ms; /* When this state began. */
    uint32_t count;
    struct supervised children[SUPERVISOR_CHILDREN_MAX];
};

/* `kinds[0..count)` are the kinds of the children. None runs yet. */
void supervisor_init(struct supervisor *supervisor, const enum child_kind *kinds, uint32_t count);

/* S13: another node, not wanted until SUPERVISOR_WANTED. Returns its index. At most
 * SUPERVISOR_CHILDREN_MAX children: the caller checks `count`. */
uint32_t supervisor_add(struct supervisor *supervisor);

/* The stage of a node; DRAIN_PS without it. */
void supervisor_set_stage(struct supervisor *supervisor, uint32_t child, enum role role);

/* Apply one event and fill `out`. The actions of one step may be carried out in any order. */
void supervisor_step(struct supervisor *supervisor, const struct supervisor_event *event,
                     struct supervisor_actions *out);

/* S12: whether the memory of the child's last process is kept. */
bool supervisor_keeps_memory(const struct supervised *child);

/* When SUPERVISOR_TICK is due; UINT64_MAX: never. */
uint64_t supervisor_deadline_ms(const struct supervisor *supervisor);

#endif
