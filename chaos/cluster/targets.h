/*
 * chaos/cluster/targets.h: the cluster of a round as a target of faults: its files, its components
 * and the process in each, its network, and the fault control of its processes.
 *
 * Owned by chaos/round.c, borrowed by injectors. Threads: the main thread.
 */
#ifndef CHAOS_CLUSTER_TARGETS_H
#define CHAOS_CLUSTER_TARGETS_H

#include <jansson.h>
#include <sys/types.h>

#include "chaos/plan/fault.h"
#include "common/base/random.h"
#include "common/cluster/task.h"
#include "common/faults/fault_control.h"
#include "common/job/job.h"

struct lab;
struct remote;

enum {
    COMPONENTS_MAX = TASKS_MAX + 8,
    TARGET_PATH_MAX = 1024,
    COMPONENT_NAME_MAX = FAULT_CONTROL_NAME_MAX
};

/* A position in the cluster that at most one process fills at a time: the agent, a ZooKeeper
 * server, or a task. The component stays when its process dies and another one takes over. */
struct component {
    char name[COMPONENT_NAME_MAX]; /* "agent", "zookeeper:2", "ps:1" */
    bool is_node;                  /* A task, filled by a node. */
    struct task task;              /* If it is a node. */
    uint32_t server;   /* Number of a ZooKeeper server, from 1; 0: it is not a server. */
    pid_t pid;         /* 0: no process is known. */
    bool frozen;       /* The process is stopped by a signal. */
    char address[128]; /* Where it listens: "tcp://127.0.0.1:4711", "127.0.0.1:2181"; "":
                          unknown. */
};

struct target_cluster {
    const char *program;            /* Path of tanist. */
    char dir[TARGET_PATH_MAX];      /* Folder of the round; injectors may use DIR/scratch. */
    char run_dir[TARGET_PATH_MAX];  /* --dir of the run. */
    char job_file[TARGET_PATH_MAX]; /* As given to the run. */
    const struct job *job;          /* With all settings applied. */
    char connect[1024];             /* ZooKeeper's; "": not known yet. */
    uint32_t count;
    struct component components[COMPONENTS_MAX]; /* The agent first, then servers, then nodes. */
    char chief[COMPONENT_NAME_MAX]; /* The component of the chief; "": no chief is alive. */
    char zookeeper_leader[COMPONENT_NAME_MAX]; /* "": unknown. */
    struct lab *lab;               /* NULL: no namespaces; all processes use loopback. */
    struct fault_control *control; /* Shared with the shim and the failpoints of all processes. */
    struct random random;          /* Seeded for the round. */
    struct remote *remote;         /* Only its ZooKeeper can be reached; NULL: it runs here. */
    bool agent_killed;             /* By an injector: the run has to be started again. */
    uint32_t wipes;                /* The data of wiped ensembles is in DIR/scratch/wiped-1 ... */
    char *const *environment;      /* The run's, for processes that injectors start. */
};

/* The components of a job's cluster; no process is known yet. */
void target_cluster_init(struct target_cluster *cluster, const struct job *job);
/* NULL: the name is unknown. */
struct component *target_cluster_component(struct target_cluster *cluster, const char *name);

/* ["agent", "zookeeper:1", "ps:0", ...], a new reference. NULL: out of memory. */
json_t *target_cluster_components_json(const struct target_cluster *cluster);

/* Read the pids of the agent's children from /proc; the pid of a component without one becomes 0.
 * The caller sets the pid of the agent itself. */
void target_cluster_refresh(struct target_cluster *cluster);

/* Some components of a cluster, borrowed from it. */
struct target_list {
    uint32_t count;
    struct component *components[COMPONENTS_MAX];
};

/* The components that a selector means now (chaos/plan/target_selector.h). TN_EAGAIN: none. */
MUST_CHECK enum tn_status target_cluster_resolve(struct target_cluster *cluster,
                                                 const char *selector, struct target_list *out,
                                                 struct error *error);

#endif
