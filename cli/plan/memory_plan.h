/*
 * cli/plan/memory_plan.h: the memory that each task of a job will need, predicted before anything
 * is started, and whether a machine has it.
 *
 * A ps holds the values of the current step and of the next one, the optimizer's state, which is
 * updated in place, and the pushed sums of one step, one of them where the next values will be
 * (ps/push_place.h); while a checkpoint is written, values and state of that step as well. A worker
 * holds the values of two steps, or those of one in the memory of the ps of its machine, a gradient
 * for each node of the slice tree that it pushes and for each level below them, the memory of its
 * programs, and the data. Slices are taken to be assigned to
 * all workers, of equal speed. Tasks of one machine exchange frames through shared memory, the
 * lanes.
 *
 * With tables a ps also holds the rows that were trained, as many as the data let expect
 * (cli/plan/memory_plan_tables.h), and a worker those that it has looked up.
 *
 * Threads: any. Nothing blocks.
 */
#ifndef CLI_PLAN_MEMORY_PLAN_H
#define CLI_PLAN_MEMORY_PLAN_H

#include <stdbool.h>

#include "cli/plan/memory_plan_data.h"
#include "common/base/error.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "common/job/strategy.h"

/* Bytes. */
struct ps_memory {
    /* The current step's. On a GPU: without the state, unless norms need it on the host. */
    uint64_t values, state;
    uint64_t next; /* The next step's values. */
    uint64_t pushed;
    uint64_t frames; /* Chunks that have arrived, in lanes and in memory of the ps. */
    /* While a checkpoint is written, and with a GPU when the ps begins; 0: there are no checkpoints
     * but the last one. */
    uint64_t saving;
    uint64_t rows;   /* Expected rows of tables, with versions, lists and pushed gradients. */
    uint64_t pinned; /* For copies to and from its GPU. */
    uint64_t device; /* The memory of its GPU, which is not in the total; 0: it has none. */
};

/* A GPU of a worker, without the driver's own memory. */
struct gpu_memory {
    uint64_t values, gradients; /* The vectors of all programs. */
    uint64_t results;           /* Results of operations, with their workspaces. */
    uint64_t examples;          /* Fields, and constants. */
    uint64_t sums;              /* Sums of gradients, with several GPUs. */
    uint64_t cublas;            /* The workspace of cuBLAS. */
};

struct worker_memory {
    /* Two steps; those in the memory of ps: one. Over TCP also those that arrive meanwhile. */
    uint64_t values;
    uint64_t shared; /* The part of the values that is in the memory of ps of its machine. */
    uint64_t gradients;
    /* Intermediate values and batches, also those that are read ahead; in a group, those of its
     * parts. With GPUs without those values, unless operations run on the CPU, and batches. */
    uint64_t programs;
    uint64_t pinned; /* With GPUs: batches, and other memory for copies. */
    uint64_t data;
    uint64_t rows; /* Keys, rows and gradients of tables that its slices read. */
    /* More keys and rows, which the worker that has slice 0 needs to evaluate (W7). */
    uint64_t evaluated;
    struct gpu_memory gpus[JOB_GPUS_MAX]; /* Not in the total. Zeros: the task has no such GPU. */
};

/* The rows of a table on all ps. */
struct table_rows {
    uint64_t expected; /* That were trained, in the end or at the same time; 0: unknown. */
    uint64_t most;     /* An upper bound. */
    uint64_t counts;   /* Keys that are counted (A18); expected. */
    uint64_t step;     /* That a step trains; expected. */
    uint64_t push;     /* That a push of a step has; expected. */
};

struct memory_plan {
    uint32_t ps_count, workers, others; /* Other processes: coordinators, ZooKeeper. */
    uint64_t others_bytes;
    uint64_t lanes_bytes; /* One for each worker and ps, which share it; 0: they use TCP. */
    struct ps_memory ps[PS_MAX];
    uint32_t members;             /* Worker tasks that are one worker: 1, or those of a group. */
    uint32_t workers_per_process; /* The workers of a process share the data. */
    struct worker_memory member[GROUP_TASKS_MAX]; /* By member. */
    struct worker_memory worker;                  /* The member that needs most. */
    uint32_t pushes;                              /* The pushes of a step, by all workers. */
    uint32_t sums;                                /* Gradients of the worker with the most. */
    bool has_data;                                /* The parts that depend on the data are known. */
    struct table_rows tables[ROW_TABLES_MAX];     /* By table of the model. */
};

/* The plan of a job that was checked, with its table of variables, without what depends on its
 * model and its data, which is 0. */
void memory_plan_parameters(const struct job *job, const struct variable_table *variables,
                            struct memory_plan *plan);

/* The whole plan. `data` NULL: they are unknown. The errors of model_open() and
 * program_memory_plan(). */
MUST_CHECK enum tn_status memory_plan_make(const struct job *job,
                                           const struct variable_table *variables,
                                           const struct memory_data *data, struct memory_plan *plan,
                                           struct error *error);

/* Sets `worker` after a change of `member`. */
void memory_plan_find_largest(struct memory_plan *plan);

/* The resident memory of a process with all that is listed. */
uint64_t memory_of_ps(const struct ps_memory *ps);
uint64_t memory_of_largest_ps(const struct memory_plan *plan); /* 0 without ps. */
uint64_t memory_of_worker(const struct worker_memory *worker);
uint64_t memory_of_gpu(const struct gpu_memory *gpu);
/* All processes of the job on one machine, with their lanes. Shared pages and the data of workers
 * of one process count once, and one worker evaluates. */
uint64_t memory_of_all(const struct memory_plan *plan);

#endif
