/*
 * agent/observe/observer.h: a view of a cluster that is kept up to date: /run, /chief, /members and
 * /history. It only reads. Used by the agent and by commands that display a cluster.
 *
 * Entries of the history are reported once each, in the order of their numbers. Those that existed
 * at the start are reported first, marked as old. Pure but for the port.
 *
 * Threads: the owner's only.
 */
#ifndef AGENT_OBSERVE_OBSERVER_H
#define AGENT_OBSERVE_OBSERVER_H

#include "common/cluster/znodes.h"
#include "common/zk/znode_watch.h"

enum observer_change {
    OBSERVER_RUN = 1,      /* `run` was read. */
    OBSERVER_CHIEF = 2,    /* `chief` has another epoch. */
    OBSERVER_MEMBER = 4,   /* `tasks[changed]` joined, left or restarted. */
    OBSERVER_HISTORY = 8,  /* `entry` is the next entry. */
    OBSERVER_PROBLEM = 32, /* The problem of `tasks[changed]` changed or is solved. */
    OBSERVER_SETTLED = 16, /* All that existed at the start has been reported. Once. */
};

struct observed_task {
    struct task task;
    bool present;
    struct member member; /* Last seen. */
    uint64_t session;     /* The session that owns its znode. */
    struct znode_watch watch;
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
    /* Private: */
    char cluster[CLUSTER_NAME_MAX];
    struct znode_watch run_watch, chief_watch, history_watch;
    uint64_t history_zxid, history_wall_ms; /* Identify /history; a wipe makes a new one. */
    bool run_answered, chief_answered, history_listed;
    bool run_absent, chief_absent, history_absent; /* When last read. */
    uint64_t next_op;
    uint64_t entry_op; /* The read in flight; 0: none. */
    int64_t reported;  /* Number of the last entry reported; -1: none. */
    int64_t old_until; /* Entries up to this number existed at the start. */
    uint64_t retry_at_ms;
    size_t waiting_count;
    int32_t waiting[HISTORY_MAX + 256]; /* Numbers of entries to be read, ascending. */
    char prefix[32];                    /* The name of an entry, without its number. */
};

/* Start to observe a cluster with these numbers of tasks. Uses request numbers from `next_op` to
 * next_op + 2^32. */
void observer_start(struct observer *observer, const char *cluster, const struct task_counts *tasks,
                    uint64_t next_op, const struct zk_port *zk, uint64_t now_ms);

/* Continue with a new session: all znodes are read again, and no entry is reported twice. */
void observer_restart(struct observer *observer, const struct zk_port *zk, uint64_t now_ms);

/* Continue with other numbers of ps and workers. No entry is reported twice. */
void observer_change(struct observer *observer, uint32_t ps, uint32_t workers,
                     const struct zk_port *zk, uint64_t now_ms);

/* Pass every ZooKeeper event. Returns a set of `enum observer_change`. */
unsigned observer_handle(struct observer *observer, const struct zk_event *event,
                         const struct zk_port *zk, uint64_t now_ms);

/* Whether the cluster has ps; without, each worker holds all values. */
bool observer_has_ps(const struct observer *observer);
/* The role of the tasks that hold values: ps, or without ps workers. */
enum role observer_holders(const struct observer *observer);

/* Whether no znode of the cluster exists, as far as was read. */
bool observer_lost_cluster(const struct observer *observer);

/* Read /run again now. OBSERVER_RUN follows, also when /run has not changed. */
void observer_ask_run(struct observer *observer, const struct zk_port *zk);

/* Look for new entries of the history now: until they are reported, observer_is_idle() is false. */
void observer_ask_history(struct observer *observer, const struct zk_port *zk);

void observer_tick(struct observer *observer, const struct zk_port *zk, uint64_t now_ms);
uint64_t observer_deadline_ms(const struct observer *observer);

/* Whether every entry of the history that is known has been reported. */
bool observer_is_idle(const struct observer *observer);

/* The chief's task, if the process that /chief names is present; else NULL. */
const struct observed_task *observer_chief(const struct observer *observer);

/* The observed task, or NULL if the cluster does not have it. */
const struct observed_task *observer_task(const struct observer *observer, struct task task);

#endif
