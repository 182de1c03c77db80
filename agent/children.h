/*
 * agent/children.h: the child processes of an agent: their command lines, files, and how they
 * ended. Private to agent/.
 *
 * Threads: the main thread.
 */
#ifndef AGENT_CHILDREN_H
#define AGENT_CHILDREN_H

#include "agent/agent.h"
#include "agent/log_pipe.h"
#include "agent/log_reason.h"
#include "agent/process.h"
#include "agent/session_reaper.h"
#include "agent/supervisor.h"
#include "common/zk/zk.h"

/* The environment variable with the digest credentials for ZooKeeper, "user:password". */
#define CREDENTIALS_VARIABLE "TANIST_ZK_CREDENTIALS"

enum { CHILD_PATH_MAX = 1024 };

struct child {
    struct process process;               /* pid 0: not running. */
    const struct ensemble_server *server; /* NULL: a node. */
    struct task task;                     /* The first one, if the process has several workers. */
    uint32_t task_count; /* Tasks of a node, with consecutive indexes; 1 except for workers. */
    /* By place: the member znode of this process exists. */
    bool registered[WORKERS_MAX];
    const struct network *network; /* Borrowed from the configuration; NULL: the agent's. */
    uint64_t incarnation;          /* The present process, or the last one. */
    char name[TASK_NAME_MAX];      /* "ps:1", "worker:0-15", "zookeeper:2" */
    char log_path[CHILD_PATH_MAX], session_path[CHILD_PATH_MAX];
    uint64_t log_start;       /* The size of the log when the process was started. */
    int memory;               /* S12: that of a ps, which outlives its process; -1: none. Owned. */
    struct log_pipe *log;     /* The output of a server; nodes rotate their logs. Owned. */
    uint64_t broken_since_ms; /* When the data of a server became unreadable; 0: they are not. */
};

struct children {
    const struct agent_config *config;
    char **environment; /* For nodes; made when the first one starts. Owned. */
    int nice;           /* The agent's, before it raised its own priority. */
    uint32_t count;     /* Servers first. It only grows, so an index stays that of its child. */
    struct child list[SUPERVISOR_CHILDREN_MAX];
};

/* Set up names, networks and folders; no child is started. TN_EIO, TN_ENOSPC: a folder cannot be
 * made. TN_EINVAL: a child has no network although others have one. */
MUST_CHECK enum tn_status children_init(struct children *children,
                                        const struct agent_config *config, struct error *error);
void children_free(struct children *children);

/* Whether a server has been unable to read its data (agent/ensemble/zoo_repair.h) for so long that
 * it must be killed; the data are repaired before the restart. Call it at each tick. Reads a
 * folder.
 */
bool children_server_is_stuck(const struct children *children, struct child *child,
                              uint64_t now_ms);

/* For process_config.nice: `offset` from the agent's niceness before it raised its own priority. */
int children_nice(const struct children *children, int offset);

/* The environment of nodes, also for other processes of the program. NULL: out of memory. */
char *const *children_environment(struct children *children);

/* S13: another node, at the end of the list. TN_ENOMEM: the list is full. TN_EINVAL: it has no
 * network although others have one. */
MUST_CHECK enum tn_status children_add(struct children *children, struct task task,
                                       struct error *error);

/* Whether `task` is one of the child's. */
bool children_has_task(const struct child *child, struct task task);
/* The `place`-th task of a node, from 0 on, and its incarnation. */
struct task children_task(const struct child *child, uint32_t place);
uint64_t children_incarnation(const struct child *child, uint32_t place);

/* The index of the child with this task, or `count` if the agent does not have it. */
uint32_t children_find(const struct children *children, struct task task);

/* The argument of supervisor_init(). */
void children_kinds(const struct children *children,
                    enum child_kind kinds[static SUPERVISOR_CHILDREN_MAX]);

/* Start a child. A node is a new incarnation; the session file of the previous one is removed. */
MUST_CHECK enum tn_status children_spawn(struct children *children, uint32_t index,
                                         struct error *error);

/* S12: close the memory that a child has left. */
void children_drop_memory(struct child *child);

/* Read and remove the session file of a dead child. False: none is readable. */
bool children_take_session(const char *path, struct zk_session *out);

/* Close the sessions of nodes of a former agent of this folder, so that their ephemeral znodes
 * disappear now, and remove their files. Blocks up to 2 s in all; the reaper closes sessions that
 * are still open then. */
void children_close_former(const struct agent_config *config, struct session_reaper *reaper);

/* The end of a child, as text for people. */
void children_describe_end(const struct supervised *ended, char *text, size_t size);

/* The line of a child's log that explains its end; "" if none can be read. */
void children_log_reason(const struct child *child, char out[static LOG_REASON_MAX]);

#endif
