/*
 * cli/run/local_run.h: an agent that runs the tasks of a job on this machine: its ZooKeeper
 * ensemble, the cluster in ZooKeeper, progress and result. Used by `tanist run` and `tanist agent`.
 *
 * Threads: the main thread.
 */
#ifndef CLI_RUN_LOCAL_RUN_H
#define CLI_RUN_LOCAL_RUN_H

#include "agent/agent.h"
#include "cli/plan/memory_plan_data.h"
#include "cli/run/progress.h"
#include "cli/run/recorder.h"
#include "cli/run/result.h"
#include "cli/run/run_hooks.h"
#include "cli/run_folder.h"
#include "cli/zk_options.h"
#include "common/cluster/variables.h"

struct local_run {
    /* Set by the command: */
    struct job job;
    struct variable_table variables;
    char *columns; /* Set by validate_job(); malloc'ed, NULL: the data have none. */
    struct memory_data memory_data; /* Set by validate_job(), unless it is unknown. */
    char connect[CONNECT_MAX];      /* Set by local_run_work() if own_ensemble. */
    char credentials[CREDENTIALS_MAX];
    bool own_ensemble;
    uint32_t connections; /* From one address, for each server of the run's ensemble. */
    bool one_of_many;     /* `tanist agent`: other hosts run other tasks of the same cluster. */
    bool resume;          /* --resume: with one_of_many, continue even if the run has finished. */
    bool allow_chaos;     /* As in struct agent_config. */
    const char *log_format, *log_level; /* As in struct agent_config. */
    uint64_t log_bytes;                 /* As in struct agent_config. */
    uint32_t connect_timeout_ms;
    uint32_t task_count; /* 0: all tasks of the job. */
    struct task tasks[TASKS_MAX];
    char listen_host[HOST_NAME_MAX_BYTES];
    struct networks networks; /* Networks of the nodes; empty: they share that of the agent. */
    struct run_folder folder; /* Open. */
    struct progress progress; /* `quiet` may be set. */
    /* Results: */
    struct agent_result agent_result;
    struct result result;
    /* Private: */
    struct ensemble ensemble;
    struct port_leases leases; /* The ports of its servers. */
    struct step_poller *steps;
    struct recorder recorder;
    struct run_hooks hooks;
    char change_text[RUN_TEXT_MAX]; /* The change that `--resume` has made; "": none. */
    uint64_t change_step;           /* From this step on. */
    uint64_t cluster_made_ms;       /* Identifies the cluster of the folder's files; 0: none. */
    uint64_t started_ms, started_wall_ms;
    uint64_t nodes_since_ms; /* Nodes of the former run were registered; 0: none was yet. */
    uint64_t key;            /* The key of the cluster; 0: unknown yet. */
    char key_variable[64];
    char *environment[2];
};

void local_run_init(struct local_run *run);
void local_run_free(struct local_run *run);

/* The run of the folder is continued from `step`. A message reports that this step is the last one
 * or after it: only the evaluation at the end is repeated. */
void local_run_note_step(const struct local_run *run, uint64_t step);

/*
 * Whether no node of the cluster is registered. Sessions of nodes that were killed outlive them, so
 * nodes of the former run may be registered for a while.
 *
 *   TN_EAGAIN  a node is registered: call again later
 *   TN_EEXIST  one is still registered when its session should have expired
 */
MUST_CHECK enum tn_status local_run_await_no_nodes(struct local_run *run, struct zk_sync *sync,
                                                   struct error *error);

/* Run the job until all its processes have ended. Errors: those of agent_run() and of the ensemble;
 * TN_ENOSPC: processes failed because the device of the folder is full. */
MUST_CHECK enum tn_status local_run_work(struct local_run *run, struct error *error);

#endif
