/*
 * cli/run/local_run.h: an agent at work for a job: its ensemble, the cluster in ZooKeeper, progress
 * and result. What `tanist run` and `tanist agent` share.
 *
 * Threads: the main thread.
 */
#ifndef CLI_RUN_LOCAL_RUN_H
#define CLI_RUN_LOCAL_RUN_H

#include "agent/agent.h"
#include "cli/run/progress.h"
#include "cli/run/result.h"
#include "cli/run_folder.h"
#include "cli/target.h"
#include "common/cluster/variables.h"

struct local_run {
    /* Filled in by the command: */
    struct job job;
    struct variable_table variables;
    char connect[CONNECT_MAX]; /* With own_ensemble: filled in by local_run_work(). */
    char credentials[CREDENTIALS_MAX];
    bool own_ensemble;
    bool one_of_many; /* `tanist agent`: other hosts run other tasks of the same cluster. */
    bool begin_again; /* Of one_of_many: also when the run is over. */
    bool allow_chaos; /* As of struct agent_config. */
    uint32_t connect_timeout_ms;
    uint32_t task_count; /* 0: all tasks of the job. */
    struct task tasks[TASKS_MAX];
    char listen_host[HOST_NAME_MAX_BYTES];
    struct networks networks; /* Of its children. */
    struct run_folder folder; /* Open. */
    struct progress progress; /* `quiet` may be set. */
    /* Results: */
    struct agent_result agent_result;
    struct result result;
    /* Private: */
    struct ensemble ensemble;
    struct step_poller *steps;
    uint64_t cluster_made_ms; /* Of the cluster that the folder's files belong to; 0: of none. */
    uint64_t started_ms;
    uint64_t key; /* Of the cluster; 0: not known yet. */
    char key_variable[64];
    char *environment[2];
};

void local_run_init(struct local_run *run);
void local_run_free(struct local_run *run);

/* Run it all until nothing is left of it. Errors: those of agent_run() and of the ensemble;
 * TN_ENOSPC: the device of the folder is full, and something kept dying. */
MUST_CHECK enum tn_status local_run_work(struct local_run *run, struct error *error);

#endif
