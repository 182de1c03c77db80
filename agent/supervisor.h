/*
 * agent/supervisor.h: which children run when: the decisions of the agent. Pure: events in, actions
 * out; time is in the event. agent/agent.c drives it with real processes.
 *
 * Rules:
 *  S1  A child that died is reaped first (its ZooKeeper session closed) and started again at once;
 *      when it had lived less than SUPERVISOR_SHORT_LIFE_MS, after a delay that doubles from
 *      SUPERVISOR_DELAY_MS to SUPERVISOR_DELAY_MAX_MS. SUPERVISOR_LONG_LIFE_MS of life forget all
 *      that.
 *  S2  A fault is an end by the child's own doing (an error's exit code, SIGSEGV, SIGABRT, ...)
 *      before SUPERVISOR_LONG_LIFE_MS. After SUPERVISOR_FAULTS_MAX in a row the job has failed.
 *      Kills from outside never fail it, however many: they only delay.
 *  S3  Exit codes that a restart cannot mend (arguments, invalid input, task taken) fail the job at
 *      once. TN_EXIT_SESSION_EXPIRED, DEPOSED and RESIGNED are no faults: the node comes back.
 *  S4  A process that lives while its member znode, seen before, is gone for SUPERVISOR_FROZEN_MS
 *      is frozen beyond its session: it is killed and started again.
 *  S5  When the job has ended nothing is started any more; nodes leave by themselves, are told to
 *      after SUPERVISOR_LEAVE_MS, and killed SUPERVISOR_GRACE_MS later. Servers go last.
 *  S6  When told to stop, nodes get SIGTERM at once; told twice, everything is killed.
 *  S7  A node that left in good order may have learned of the job's end before us: it is started
 *      again only after /run was read anew, SUPERVISOR_ASK_MS later, and the job goes on.
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
    SUPERVISOR_ACTIONS_MAX = 2 * SUPERVISOR_CHILDREN_MAX + 2,
    SUPERVISOR_SHORT_LIFE_MS = 1000,
    SUPERVISOR_LONG_LIFE_MS = 10000,
    SUPERVISOR_DELAY_MS = 100,
    SUPERVISOR_DELAY_MAX_MS = 5000,
    SUPERVISOR_FAULTS_MAX = 8,
    SUPERVISOR_FROZEN_MS = 500,
    SUPERVISOR_LEAVE_MS = 5000,
    SUPERVISOR_GRACE_MS = 5000,
    SUPERVISOR_ASK_MS = 200,
};

enum child_kind { CHILD_SERVER, CHILD_NODE };

enum supervisor_event_type {
    SUPERVISOR_START_SERVERS,
    SUPERVISOR_START_NODES,
    SUPERVISOR_SPAWNED,     /* `child` runs. */
    SUPERVISOR_NOT_SPAWNED, /* The system refused; counts as a fault. */
    SUPERVISOR_EXITED,      /* `exit_code`, or `signal` if not 0. */
    SUPERVISOR_MEMBER_SEEN, /* Its znode, of its present process, is there. */
    SUPERVISOR_MEMBER_GONE,
    SUPERVISOR_JOB_GOES_ON, /* /run was read, and says so. */
    SUPERVISOR_JOB_ENDED,   /* /run says done or failed. */
    SUPERVISOR_STOP,
    SUPERVISOR_TICK,
};

struct supervisor_event {
    enum supervisor_event_type type;
    uint64_t now_ms;
    uint32_t child;
    int exit_code, signal;
};

enum supervisor_action_type {
    DO_SPAWN,
    DO_CLEAN_UP, /* A node died: tell the cluster now, not at the session's timeout. */
    DO_TERMINATE,
    DO_KILL,
    DO_ASK_RUN, /* Read /run: JOB_GOES_ON or JOB_ENDED is awaited. */
    DO_FAIL,    /* The job cannot go on because of `child`; said once. Stopping has begun. */
    DO_END,     /* Nothing is left running; said once. */
};

enum supervisor_verdict {
    VERDICT_NONE,
    VERDICT_CRASH_LOOP,
    VERDICT_HOPELESS, /* An exit code that a restart cannot mend. */
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
    bool killed; /* SIGKILL was sent to the present process. */
    bool terminated;
    bool member_seen;
    bool left, asked;        /* S7: it waits for /run; which is being read. */
    uint64_t member_gone_ms; /* 0: not gone. */
    uint64_t started_ms, restart_at_ms;
    uint32_t delay_ms;     /* Of the next restart; 0: at once. */
    uint32_t faults;       /* In a row. */
    uint32_t starts;       /* In all. */
    int exit_code, signal; /* Of the last end. */
};

struct supervisor {
    enum { SUPERVISOR_WORKING, SUPERVISOR_LEAVING, SUPERVISOR_STOPPING, SUPERVISOR_OVER } phase;
    uint64_t phase_ms; /* Since when. */
    bool failed, hurried, nodes_started, servers_stopping;
    uint64_t servers_stop_ms;
    uint32_t count;
    struct supervised children[SUPERVISOR_CHILDREN_MAX];
};

/* `kinds[0..count)` says what the children are. Nothing runs yet. */
void supervisor_init(struct supervisor *supervisor, const enum child_kind *kinds, uint32_t count);

/* Every action of one step may be carried out in any order. */
void supervisor_step(struct supervisor *supervisor, const struct supervisor_event *event,
                     struct supervisor_actions *out);

/* When it wants SUPERVISOR_TICK; UINT64_MAX: never. */
uint64_t supervisor_deadline_ms(const struct supervisor *supervisor);

#endif
