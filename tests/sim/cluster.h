/*
 * tests/sim/cluster.h: a whole cluster in the simulated world: an ensemble, hosts with their
 * agents, nodes, faults, and the checker that judges the run.
 */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "agent/supervisor.h"
#include "checker/checker.h"
#include "common/job/job.h"
#include "kernels/kernels.h"
#include "tests/sim/coverage.h"
#include "tests/sim/disk_model.h"
#include "tests/sim/faults.h"
#include "tests/sim/live.h"
#include "tests/sim/process.h"
#include "tests/sim/reference.h"

enum {
    SIM_CLUSTER_KEY = 0x7a61,
    SIM_TASKS_MAX = 12,
    SIM_PROCESSES_MAX = 2048,
    SIM_FAULTS_FROM_MS = 200,
    /* A run must end within this time after the last fault, or make progress. */
    SIM_LIVENESS_MS = 120000,
    SIM_PROGRESS_MS = 60000, /* Progress: a later step is committed in each such interval. */
};

/* The decisions of the seed before the run starts. */
struct sim_setup {
    struct job job;
    bool ledger;
    bool ledger_rows;  /* The ledger has tables. */
    bool keeps_memory; /* Agents keep the memory of a ps that was killed. */
    bool shares_rows;  /* Workers share lookups of rows, as those of one process do. */
    bool in_order; /* Async with one slice, whose worker does not die: the values of sync mode. */
    bool one_host; /* All tasks have one agent; else each has its own. */
    bool live;     /* The one agent changes the job while it runs (live.h). */
    uint32_t ps_most;      /* The number of ps may change up to this; 0: it does not change. */
    uint32_t workers_most; /* The same for workers of a job without a range. */
    uint32_t zk_tick_ms;
    uint32_t agent_notice_us; /* From the death of a child until the agent reaps it. */
    uint64_t faults_until_ms;
    uint64_t slice_us[SIM_TASKS_MAX]; /* The time of a slice, by worker; 0: computing takes none. */
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
    uint32_t tasks[SIM_TASKS_MAX];    /* Child i is the cluster's task tasks[i]. */
    uint64_t unreaped[SIM_TASKS_MAX]; /* Sessions left by the former process. */
    struct supervisor supervisor;
    uint64_t tick_at_us;
    uint64_t back_after_ms; /* A drained agent; 0: it is not drained. */
    uint64_t starts; /* Number of starts: entries scheduled before the last start are void. */
};

/* A push or pull that reached a ps, by its round. */
struct sim_question {
    uint64_t sender, ps, round, generation; /* Incarnations of the worker and of the ps. */
};

/* The memory that an agent keeps for a ps. */
struct sim_kept {
    void *memory;        /* NULL: the task has none. */
    int file;            /* Its number, as of a descriptor. */
    void *torn;          /* A copy from the middle of an update. */
    uint32_t tear_after; /* Calls of kernels until then; 0: it is not awaited. */
    uint64_t found;      /* How often a ps found the state of a former one. */
};

enum { SIM_QUESTIONS = 1024, SIM_ANSWERS = 64, SIM_ANSWER_FLOATS = 2048 };
enum { SIM_LOOKUPS = 64, SIM_LOOKUP_BYTES = 2048 };

/* The values that a ps is sending to a worker, as far as their chunks were delivered. */
struct sim_answer {
    uint64_t worker;            /* Incarnation. */
    struct frame_header header; /* The first chunk's. */
    size_t have;                /* Bytes. */
    float values[SIM_ANSWER_FLOATS];
};

/* A lookup of rows that reached a ps. */
struct sim_lookup {
    uint64_t worker, ps; /* Incarnations. */
    struct frame_header header;
    uint8_t body[SIM_LOOKUP_BYTES];
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
    /* A hash table; an older question is forgotten. */
    struct sim_question questions[SIM_QUESTIONS];
    struct sim_answer answers[SIM_ANSWERS]; /* A hash table. */
    struct sim_lookup lookups[SIM_LOOKUPS]; /* A hash table. */
    uint64_t rows_checked;
    struct row_sharing *sharing;
    uint32_t task_count;
    struct task tasks[SIM_TASKS_MAX];
    struct process *now[SIM_TASKS_MAX]; /* The last process of each task. */
    struct sim_kept kept[SIM_TASKS_MAX];
    int kept_files;
    void **retired; /* Memory of former agents. */
    size_t retired_count;
    struct kernels torn_kernels;
    struct optimizer_kernels torn_optimizers;
    uint64_t looping_until_us[SIM_TASKS_MAX];
    uint32_t left;                    /* Workers that left because the run is to have fewer. */
    bool other_inputs[SIM_TASKS_MAX]; /* The worker starts with the data of `other_job`. */
    struct job other_job;
    uint64_t others_started, others_refused;
    uint64_t attempts;        /* Members of groups began an attempt. */
    uint64_t drains_late;     /* Hosts whose drain did not end in good order. */
    uint64_t losses_accepted; /* By the operator, because the run was held for long. */
    uint32_t agent_count;
    struct sim_agent agents[SIM_TASKS_MAX];
    struct process *processes[SIM_PROCESSES_MAX];
    uint32_t process_count;
    uint64_t next_incarnation, key;
    uint32_t resizes; /* How often the number of ps has changed. */
    /* The highest step whose values were sent, when that was, and the longest time between two such
     * steps while the run was running. */
    uint64_t reached_step, reached_us, longest_stall_us;
    struct sim_live live;
    uint64_t healed_ms;
    bool healed, stopping;
    uint64_t kills;
};

/* Draws the setup of a seed. */
void sim_setup_draw(struct sim_setup *setup, uint64_t seed);

/* Runs a seed: a safety phase with faults, then, with all faults undone, a liveness phase.
 * `cluster->world.failed` is the result; free the cluster afterwards. Faults whose bit is not set
 * in `mask` are left out. */
void sim_cluster_run(struct sim_cluster *cluster, const struct sim_setup *setup, uint64_t seed,
                     uint64_t mask, bool verbose, struct coverage *coverage);
void sim_cluster_free(struct sim_cluster *cluster);

/* sim_agents.c */
void sim_agent_start(struct sim_agent *agent);
void sim_agent_die(struct sim_agent *agent, bool silently, uint64_t back_after_ms);
void sim_agent_drain(struct sim_agent *agent, uint64_t back_after_ms);
void sim_agent_saw_end(struct sim_cluster *cluster, uint32_t task, int exit_code, int signal);
void sim_agents_job_ended(struct sim_cluster *cluster);
struct sim_agent *sim_agent_of(struct sim_cluster *cluster, uint32_t task);
void sim_agent_feed(struct sim_agent *agent, const struct supervisor_event *event);
/* The ps with these indexes run, from 0 to ps - 1. */
void sim_agent_choose_ps(struct sim_agent *agent, uint32_t ps);
void sim_agent_choose_workers(struct sim_agent *agent, uint32_t workers);

/* sim_rows.c: a job with tables whose keys are hashed into few rows. `optimizer`: a setting. */
void sim_rows_job(struct job *job, const char *optimizer);
/* In half of the jobs with tables, workers share lookups. */
bool sim_rows_are_shared(const struct job *job);
/* In one seed of four that need no exact counts the model has tables. From a stream of its own. */
void sim_rows_draw(struct sim_setup *setup, uint64_t seed);
/* A LOOKUP reached a ps, and ROWS a worker: they are compared with the reference. */
void sim_rows_asked(struct sim_cluster *cluster, const struct frame_header *header,
                    const struct process *ps, const void *body);
void sim_rows_answered(struct sim_cluster *cluster, const struct frame_header *header,
                       const struct process *ps, const struct process *worker, const void *body);

/* A checkpoint was committed: the rows in its files are compared. */
void sim_rows_committed(struct sim_cluster *cluster);

/* Borders between the rows of `ps` ps, drawn by `seed`; 0: equal parts. */
struct row_borders sim_rows_borders(uint32_t ps, uint32_t seed);

/* sim_resize.c: all nodes and agents die, and start again with another number of ps, 0: without,
 * and the borders that sim_rows_borders() draws. */
void sim_resize(struct sim_cluster *cluster, uint32_t ps, uint32_t borders);
/* Whether the job has this task now. */
bool sim_is_declared(const struct sim_cluster *cluster, uint32_t task);

/* scenario_group.c: a frame reached a member of a group. */
void sim_group_on_frame(struct sim_cluster *cluster, const struct frame_header *header);

/* sim_view.c: what the checker may read. */
struct checker_view sim_view(struct sim_cluster *cluster);

/* sim_evaluator.c: creates the node of `process`. */
void sim_make_evaluator(struct sim_cluster *cluster, struct process *process,
                        const struct node_identity *identity);

/* sim_kept.c: the memory that outlives a ps, which the ps lends; none, unless agents keep it. */
void sim_kept_open(struct sim_cluster *cluster, struct process *process);
/* The agent closes it, or dies. */
void sim_kept_drop(struct sim_cluster *cluster, uint32_t task);
void sim_kept_free(struct sim_cluster *cluster); /* Every process is freed. */
/* The next update of a ps, by `target`, is torn at a place given by `at`. */
void sim_kept_tear(struct sim_cluster *cluster, uint32_t target, uint32_t at);
/* The process has `dies` set. */
void sim_kept_torn(void *ctx, struct process *process, int exit_code);
/* The kernels of the cluster for its ps, which can tear an update. */
const struct kernels *sim_kept_kernels(struct sim_cluster *cluster);

/* sim_nodes.c: creates the process of a task and starts it. */
void sim_spawn(struct sim_cluster *cluster, uint32_t task);
/* Creates the znodes that the nodes need. */
void sim_bootstrap(struct sim_cluster *cluster);

/* sim_injector.c: injects a fault and schedules its end. */
void sim_inject(struct sim_cluster *cluster, const struct fault *fault);
/* sim_foreign.c */
void sim_foreign_delete(struct sim_cluster *cluster, const struct fault *fault);
void sim_foreign_damage(struct sim_cluster *cluster, const struct fault *fault);
void sim_foreign_lock(struct sim_cluster *cluster, const struct fault *fault);
/* An administrator makes the folders of the cluster writable again. */
void sim_foreign_unlock(struct sim_cluster *cluster);
/* An operator watches for a held run. */
void sim_operator_start(struct sim_cluster *cluster);
void sim_kill_task(struct sim_cluster *cluster, uint32_t task);
/* Undoes every lasting fault. */
void sim_heal(struct sim_cluster *cluster);

#endif
