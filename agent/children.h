/*
 * agent/children.h: the processes of an agent: their command lines, files and ends. Private to
 * agent/.
 *
 * Threads: the main thread.
 */
#ifndef AGENT_CHILDREN_H
#define AGENT_CHILDREN_H

#include "agent/agent.h"
#include "agent/process.h"
#include "agent/supervisor.h"
#include "common/zk/zk.h"

/* Digest credentials "user:password" for ZooKeeper, in the environment. */
#define CREDENTIALS_VARIABLE "TANIST_ZK_CREDENTIALS"

enum { CHILD_PATH_MAX = 1024, CHILD_LAST_WORDS_MAX = 320 };

struct child {
    struct process process;               /* pid 0: none. */
    const struct ensemble_server *server; /* NULL: a node. */
    struct task task;
    const struct network *network; /* Borrowed from the configuration; NULL: ours. */
    uint64_t incarnation;          /* Of the present or last process. */
    char name[TASK_NAME_MAX];      /* "ps:1", "zookeeper:2" */
    char log_path[CHILD_PATH_MAX], session_path[CHILD_PATH_MAX];
    uint64_t broken_since_ms; /* A server's data; 0: they are well. */
};

struct children {
    const struct agent_config *config;
    char **environment; /* Of nodes; made for the first. Owned. */
    int nice;           /* Ours before the agent raised its priority. */
    uint32_t count;     /* Servers first. */
    struct child list[SUPERVISOR_CHILDREN_MAX];
};

/* Names, networks and folders; nothing runs. TN_EIO, TN_ENOSPC: a folder cannot be made. TN_EINVAL:
 * a child without a network where others have one. */
MUST_CHECK enum tn_status children_init(struct children *children,
                                        const struct agent_config *config, struct error *error);
void children_free(struct children *children);

/* Whether a server runs on data that it cannot read (agent/ensemble/zoo_repair.h), for so long that
 * it must be killed: it is mended as it starts again. For each tick. Reads a folder. */
bool children_server_is_stuck(const struct children *children, struct child *child,
                              uint64_t now_ms);

/* What supervisor_init() wants. */
void children_kinds(const struct children *children,
                    enum child_kind kinds[static SUPERVISOR_CHILDREN_MAX]);

/* Start a child, a node as a new incarnation and without a former one's session file. */
MUST_CHECK enum tn_status children_spawn(struct children *children, uint32_t index,
                                         struct error *error);

/* Take the session that a dead child left behind; its file goes. False: it left none. */
bool children_take_session(const char *path, struct zk_session *out);

/* Close the sessions of nodes that a former agent of this folder left: their ephemerals go now.
 * Blocks up to 2 s for each. */
void children_close_former(const struct agent_config *config);

/* How it ended, for people. */
void children_describe_end(const struct supervised *ended, char *text, size_t size);

/* The last line of a child's log, or "". */
void children_last_words(const struct child *child, char text[static CHILD_LAST_WORDS_MAX]);

#endif
