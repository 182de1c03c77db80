/*
 * agent/observe/observer.h: a cluster as seen from outside, kept up to date: /run, /chief, /members
 * and /history. For the agent and for commands that show a cluster. It only reads.
 *
 * History entries are told one by one, in order, each once; those that were there at the start are
 * told first, marked `old`. Pure but for the port. Threads: the owner's only.
 */
#ifndef AGENT_OBSERVE_OBSERVER_H
#define AGENT_OBSERVE_OBSERVER_H

#include "common/cluster/znodes.h"
#include "common/zk/mirror.h"

enum observer_change {
    OBSERVER_RUN = 1,      /* `run` is new. */
    OBSERVER_CHIEF = 2,    /* `office` is new. */
    OBSERVER_MEMBER = 4,   /* `seats[seat]` came, went or was reborn. */
    OBSERVER_HISTORY = 8,  /* `entry` is the next one. */
    OBSERVER_SETTLED = 16, /* All that was there at the start has been told. Once. */
};

struct observed_task {
    struct task task;
    bool present, known;  /* known: it was seen at least once. */
    struct member member; /* Last seen. */
    uint64_t session;     /* That owns it. */
    struct mirror mirror;
    bool answered;
};

struct observer {
    bool has_run, has_chief;
    struct run run;
    struct chief_record chief;
    uint32_t changed; /* With OBSERVER_MEMBER. */
    uint32_t task_count;
    struct observed_task tasks[TASKS_MAX];
    struct history_entry entry; /* With OBSERVER_HISTORY. */
    bool entry_old;
    bool settled;
    /* Private. */
    char cluster[CLUSTER_NAME_MAX];
    struct mirror run_mirror, chief_mirror, history_mirror;
    uint64_t history_zxid, history_wall_ms; /* Which /history that was; numbers are its own. */
    bool run_answered, chief_answered, history_listed;
    uint64_t next_op;
    uint64_t entry_op; /* Read in flight; 0: none. */
    int64_t told;      /* Sequence number of the last entry told, -1: none. */
    int64_t newest;    /* Highest seen in a listing. */
    int64_t old_until; /* Entries up to this one were there at the start. */
    uint64_t retry_at_ms;
    size_t waiting_count;
    int32_t waiting[HISTORY_MAX + 256]; /* To be read, ascending. */
    char prefix[32];                    /* What precedes the sequence number in a name. */
};

/* Begin with a cluster that has these numbers of tasks. `next_op`: the first request number that it
 * may use; it uses only numbers from there to there + 2^32. */
void observer_start(struct observer *observer, const char *cluster, uint32_t coordinators,
                    uint32_t ps, uint32_t workers, uint64_t next_op, const struct zk_port *zk,
                    uint64_t now_ms);

/* Begin again over a new session: everything is read anew, nothing is told twice. */
void observer_restart(struct observer *observer, const struct zk_port *zk, uint64_t now_ms);

/* Show it every ZooKeeper event. Returns a set of `enum observer_change`. */
unsigned observer_handle(struct observer *observer, const struct zk_event *event,
                         const struct zk_port *zk, uint64_t now_ms);

/* Read /run again now: OBSERVER_RUN follows, also when nothing has changed. */
void observer_ask_run(struct observer *observer, const struct zk_port *zk);

void observer_tick(struct observer *observer, const struct zk_port *zk, uint64_t now_ms);
uint64_t observer_deadline_ms(const struct observer *observer);

/* No entry of the history waits to be read. */
bool observer_is_idle(const struct observer *observer);

/* The seat of who is in office and there; NULL: nobody. */
const struct observed_task *observer_chief(const struct observer *observer);

/* The seat of a task, or NULL. */
const struct observed_task *observer_task(const struct observer *observer, struct task task);

#endif
