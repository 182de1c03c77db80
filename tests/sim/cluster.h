/*
 * tests/sim/cluster.h: a whole cluster in the simulated world: an ensemble, hosts with their
 * agents, the nodes; what the seed decides about them; the faults; and the verdict.
 */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "agent/supervisor.h"
#include "checker/checker.h"
#include "common/cluster/job.h"
#include "tests/sim/coverage.h"
#include "tests/sim/disk_model.h"
#include "tests/sim/faults.h"
#include "tests/sim/process.h"
#include "tests/sim/reference.h"

enum {
    SIM_TASKS_MAX = 12,
    SIM_PROCESSES_MAX = 2048,
    SIM_FAULTS_FROM_MS = 200,
    SIM_LIVENESS_MS = 120000, /* After the last fault ended, a run must end within this. */
};

/* What the seed decides before anything happens. */
struct sim_setup {
    struct job job;
    bool ledger;
    bool one_host; /* All tasks under one agent; else an agent for each. */
    uint32_t zk_tick_ms;
    uint32_t agent_notice_us; /* From a child's death to its reap. */
    uint64_t faults_until_ms;
    struct zk_model_config zk;
    struct net_config net;
    struct disk_config disk;
    uint32_t fault_count;
    struct fault faults[FAULTS_MAX];
};

struct sim_agent {
    struct sim_cluster *cluster;
    bool alive;
    uint32_t host;
    uint32_t task_count;
    uint32_t tasks[SIM_TASKS_MAX];    /* Indices of the cluster's tasks; child i is tasks[i]. */
    uint64_t unreaped[SIM_TASKS_MAX]; /* Sessions its predecessor left behind. */
    struct supervisor supervisor;
    uint64_t tick_at_us;
    uint64_t life; /* Counts its starts: what a dead one had planned is void. */
};

struct sim_cluster {
    struct world world;
    struct sim_setup setup;
    struct zk_model *zk;
    struct net_model *net;
    struct disk_model *disk;
    const struct kernels *kernels;
    struct model *model;
    struct dataset *train, *test;
    struct reference *reference;
    struct checker checker;
    struct coverage *coverage;
    uint32_t task_count;
    struct task tasks[SIM_TASKS_MAX];
    struct process *now[SIM_TASKS_MAX]; /* The last process of each task. */
    uint64_t looping_until_us[SIM_TASKS_MAX];
    uint32_t agent_count;
    struct sim_agent agents[SIM_TASKS_MAX];
    struct process *processes[SIM_PROCESSES_MAX];
    uint32_t process_count;
    uint64_t next_incarnation;
    uint64_t healed_ms;
    bool healed, stopping;
    uint64_t kills;
};

/* Draw what the seed says. */
void sim_setup_draw(struct sim_setup *setup, uint64_t seed);

/* Run it: safety phase, heal, liveness phase. The world says whether it failed; free it afterwards.
 * Faults whose bit (by index) is not set in `mask` are left out. */
void sim_cluster_run(struct sim_cluster *cluster, const struct sim_setup *setup, uint64_t seed,
                     uint64_t mask, bool verbose, struct coverage *coverage);
void sim_cluster_free(struct sim_cluster *cluster);

/* sim_agents.c */
void sim_agent_start(struct sim_agent *agent);
void sim_agent_die(struct sim_agent *agent, bool silently, uint64_t back_after_ms);
void sim_agent_saw_end(struct sim_cluster *cluster, uint32_t task, int exit_code, int signal);
void sim_agents_job_ended(struct sim_cluster *cluster);
struct sim_agent *sim_agent_of(struct sim_cluster *cluster, uint32_t task);

/* sim_view.c: the world, as the checker sees it. */
struct checker_view sim_view(struct sim_cluster *cluster);

/* sim_nodes.c: make the process of a task and start it. */
void sim_spawn(struct sim_cluster *cluster, uint32_t task);
/* Create the znodes that the nodes expect. */
void sim_bootstrap(struct sim_cluster *cluster);

/* sim_injector.c: let a fault happen, and end. */
void sim_inject(struct sim_cluster *cluster, const struct fault *fault);
void sim_kill_task(struct sim_cluster *cluster, uint32_t task);
/* Undo all that lasts. */
void sim_heal(struct sim_cluster *cluster);

#endif
