/*
 * common/cluster/run.h: the contents of /run: the desired state of the whole cluster, written by
 * the chief alone (fenced) and followed by all nodes. Level-triggered: a node needs only the last
 * value. Plain data; pure.
 */
#ifndef COMMON_CLUSTER_RUN_H
#define COMMON_CLUSTER_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/best.h"
#include "common/cluster/inputs.h"
#include "common/cluster/metrics.h"
#include "common/cluster/task.h"

enum run_phase {
    RUN_FORMING,  /* Waiting for every ps and enough workers. */
    RUN_LOADING,  /* Every ps loads `generation` from `load_checkpoint`. Workers are idle. */
    RUN_RUNNING,  /* Workers train `generation` up to step `until`. */
    RUN_PAUSED,   /* Workers are idle: a ps is missing, or by request of an operator. */
    RUN_HELD,     /* A checkpoint cannot be loaded: a ps or an operator must help. */
    RUN_STOPPING, /* No more steps: final checkpoint and evaluation. */
    RUN_DONE,     /* Finished; nodes exit. */
    RUN_FAILED,   /* Failed for `reason`; nodes exit. */
    RUN_PHASES
};

enum recovery_kind {
    RECOVERY_NONE,
    RECOVERY_PS,
    RECOVERY_CHIEF,
    RECOVERY_RESTART,
    RECOVERY_OPERATOR,
    RECOVERY_WARM,   /* In the history: that of a ps which still had its values (C19). */
    RECOVERY_WORKER, /* Without ps: a worker was lost (C21). */
    RECOVERY_KINDS
};

enum {
    RUN_TEXT_MAX = 160,
    RESTORE_PATH_MAX = 512,
    RUN_UNLOADABLE_MAX = 64,
    RUN_EVALUATED_MAX = 4,
    RUN_RELEASED_MAX = 64,
};
#define STEP_NONE UINT64_MAX

/* Whether what happens every `every` steps (0: never) happens at `step`. */
static inline bool step_is_multiple(uint64_t step, uint64_t every)
{
    return every != 0 && step != 0 && step % every == 0;
}
/* The reason of RUN_FAILED if nothing failed but an operator stopped the run before it began. */
#define RUN_STOPPED_REASON "stopped by an operator before training began"

/* The reason while nothing but an operator's `tanist pause` keeps the run from going on. */
#define RUN_PAUSED_REASON "paused by an operator"
#define RUN_DRAINED_CAUSE "drained" /* A recovery's cause begins with it. */

/* A recovery, from the write that stops the workers to the write that lets them continue. */
struct recovery {
    enum recovery_kind kind;
    struct task task; /* The task whose loss caused it. */
    uint64_t started_wall_ms;
    uint64_t step;            /* Highest step any ps had reached. */
    char cause[RUN_TEXT_MAX]; /* "signal 9 (Killed)", "session expired", ... */
};

/* The result of evaluating the validation split, or else the test set, at `step`, by a worker or
 * the evaluator. */
struct evaluation {
    uint64_t step;          /* STEP_NONE: never evaluated. */
    double loss;            /* Mean over the test set. */
    double accuracy;        /* 0 to 1; of a regression: R squared. */
    double train_loss;      /* Mean of the last steps' batches; NAN unknown. */
    struct metrics metrics; /* All others. */
    /* XXH3-128 (low, high) of all parameters in the order of the variable table. */
    uint64_t digest[2];
};

/* The metric of `checkpoint.best` at a step. */
struct evaluated {
    uint64_t step; /* 0: none. */
    double value;
};

struct run {
    enum run_phase phase;
    uint64_t epoch;           /* The epoch of the chief that wrote this. */
    uint64_t revision;        /* Counts the writes of that chief, which recognises them by it. */
    uint64_t generation;      /* 0 until something is loaded. */
    uint64_t load_checkpoint; /* `generation` starts from it; 0: initial values. */
    uint64_t load_step;       /* Its step. */
    uint64_t committed_checkpoint; /* Newest committed; 0: none. */
    uint64_t committed_step;
    uint64_t last_checkpoint; /* Highest id ever used; ids are never used twice. */
    uint64_t save_checkpoint; /* The checkpoint that every ps is to write; 0: none. */
    uint64_t save_step;       /* Its step: the number of steps that each ps has applied by then. */
    uint16_t save_writer;     /* Without ps: the worker that writes it, alone (M10). */
    /* The first multiple of `checkpoint.every_steps` that is neither ordered nor skipped. No ps
     * forgets its values until then. 0: none. */
    uint64_t save_due;
    uint64_t skipped_checkpoints; /* Such multiples that were not saved, since the first start. */
    uint64_t until;               /* Workers contribute only to steps below this one. */
    bool ending;                  /* `until` is final. */
    uint64_t gate;          /* A ps leaves: until it is back, no step from this one on; 0: none. */
    uint64_t evaluate_step; /* Evaluate the values of this step; STEP_NONE: no. */
    bool pause_requested;   /* Paused by an operator. */
    /* C22: the number of workers that the run has, those with the lowest indexes; 0: all workers of
     * the job. */
    uint32_t workers;
    /* C24: the incarnations of workers without ps that leave, and whose values others have: they
     * may go. Further ones follow when these have left. */
    uint32_t released_count;
    uint64_t released[RUN_RELEASED_MAX];
    struct recovery recovery;
    struct evaluation evaluation; /* The newest. */
    uint64_t best_step;  /* The best evaluation by train.stop.metric; 0: none with a number. */
    double best;         /* Its metric. */
    uint64_t since_best; /* Evaluations since then that were not better. */
    /* C18: the checkpoint that the evaluator is to evaluate, and its step; 0: none. */
    uint64_t evaluate_checkpoint, evaluate_checkpoint_step;
    uint64_t evaluated_checkpoint; /* The newest that it has done with; 0: none. */
    uint64_t unevaluated;          /* Checkpoints committed since the last of these orders. */
    uint64_t passed_over;          /* Checkpoints that were not ordered, since the last result. */
    struct best best_checkpoint;   /* C17. */
    struct evaluated saved_value;  /* C17: the evaluation of `save_step`, if `step` is that. */
    /* C17: the last evaluations, of steps that may be ordered yet; the oldest first. */
    uint32_t evaluated_count;
    struct evaluated evaluated[RUN_EVALUATED_MAX];
    struct inputs inputs; /* C13: the inputs that all workers must have. */
    uint64_t started_wall_ms;
    uint64_t changed_wall_ms;
    uint64_t elections;        /* Since the cluster was created. */
    char reason[RUN_TEXT_MAX]; /* FAILED: the cause. FORMING, PAUSED, HELD: what the run waits for.
                                */
    /* HELD: the checkpoint that cannot be loaded, and the indexes of the ps, or without ps of the
     * workers, that cannot. */
    uint64_t held_checkpoint, held_step;
    uint32_t missing_count;
    uint16_t missing[HOLDERS_MAX];
    /* Committed checkpoints that could not be loaded: they are never deleted. */
    uint32_t unloadable_count;
    uint64_t unloadable[RUN_UNLOADABLE_MAX];
    char restore_from[RESTORE_PATH_MAX]; /* Where a ps also looks for shards, until a commit; "":
                                            none. */
};

/* Done or failed: nodes exit. */
bool run_is_over(const struct run *run);

/* C22: whether this worker is to run. */
bool run_wants_worker(const struct run *run, uint32_t index);

/* Whether an operator has paused the run: it continues with the values that the nodes have. */
bool run_is_paused_by_operator(const struct run *run);

/* C24: whether the worker of this incarnation may go. */
bool run_has_released(const struct run *run, uint64_t incarnation);

/* Nodes compute the steps below this one. */
uint64_t run_limit(const struct run *run);

/* Whether the checkpoint that a node at `step` of `generation` is writing is awaited, so that it is
 * hurried: by a load, the end of training, a node that leaves, or the next checkpoint, of
 * those each `every` steps (0: none), of which a quarter is left. */
bool run_hurries_save(const struct run *run, uint64_t generation, uint64_t step, uint64_t every);

/* Whether `checkpoint` is listed as unloadable. */
bool run_is_unloadable(const struct run *run, uint64_t checkpoint);

const char *run_phase_name(enum run_phase phase); /* "forming", ... Static storage. */
/* False: no phase has that name. */
bool run_phase_parse(const char *name, enum run_phase *out);
const char *recovery_kind_name(enum recovery_kind kind);
/* All names, NULL-ended. */
extern const char *const run_phase_names[];
extern const char *const recovery_kind_names[];

#endif
