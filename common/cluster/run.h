/*
 * common/cluster/run.h: what /run says: the wanted state of the whole cluster, written by the chief
 * alone (fenced), watched and obeyed by everyone. Level-triggered: the last value is all a node
 * needs. Plain data; pure.
 */
#ifndef COMMON_CLUSTER_RUN_H
#define COMMON_CLUSTER_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/task.h"

enum run_phase {
    RUN_FORMING,  /* Waiting for every ps and enough workers. */
    RUN_LOADING,  /* Every ps loads `generation` from `load_checkpoint`. Workers stand still. */
    RUN_RUNNING,  /* Workers train `generation` up to step `until`. */
    RUN_PAUSED,   /* Workers stand still: a ps is missing, or an operator wants it. */
    RUN_STOPPING, /* No more steps: final checkpoint and evaluation. */
    RUN_DONE,     /* Finished; nodes leave. */
    RUN_FAILED,   /* Given up, `reason` says why; nodes leave. */
    RUN_PHASES
};

enum recovery_kind {
    RECOVERY_NONE,
    RECOVERY_PS,
    RECOVERY_CHIEF,
    RECOVERY_RESTART,
    RECOVERY_OPERATOR
};

enum { RUN_TEXT_MAX = 160 };
#define STEP_NONE UINT64_MAX
/* The reason of RUN_FAILED when nothing failed: an operator wanted the end before anything began.
 */
#define RUN_STOPPED_REASON "stopped by an operator before training began"

/* The interruption that is being mended, from the write that stopped the workers to the one that
 * lets them go on. */
struct recovery {
    enum recovery_kind kind;
    struct task task; /* Whose loss caused it. */
    uint64_t started_wall_ms;
    uint64_t step;            /* Highest step any ps had reached. */
    char cause[RUN_TEXT_MAX]; /* "signal 9 (Killed)", "session expired", ... */
};

/* What a worker found by evaluating the test set at `step`. */
struct evaluation {
    uint64_t step;     /* STEP_NONE: never evaluated. */
    double loss;       /* Mean over the test set. */
    double accuracy;   /* 0 to 1; of a regression: R squared. */
    double train_loss; /* Mean of the last steps' batches; NAN unknown. */
    uint64_t
        digest[2]; /* XXH3-128 (low, high) of all parameters in the order of the variable table. */
};

struct run {
    enum run_phase phase;
    uint64_t epoch;                /* Of the chief that wrote this. */
    uint64_t revision;             /* Of this write among those of that chief: recognises it. */
    uint64_t generation;           /* 0 while nothing was ever loaded. */
    uint64_t load_checkpoint;      /* What `generation` starts from; 0: initial values. */
    uint64_t load_step;            /* Its step. */
    uint64_t committed_checkpoint; /* Newest committed; 0: none. */
    uint64_t committed_step;
    uint64_t last_checkpoint; /* Highest id ever ordered; ids are never used twice. */
    uint64_t save_checkpoint; /* Order: write checkpoint of this id ... 0: no order. */
    uint64_t save_step;       /* ... having applied exactly this many steps. */
    uint64_t until;           /* Workers contribute to steps below this one only. */
    bool ending;              /* `until` is the last step of all: nothing raises it any more. */
    uint64_t evaluate_step;   /* Evaluation wanted at the first step >= this; STEP_NONE: none. */
    bool held;                /* An operator wants the pause. */
    struct recovery recovery;
    struct evaluation evaluation; /* Newest known. */
    uint64_t started_wall_ms;
    uint64_t changed_wall_ms;
    uint64_t elections;        /* Counted by the chiefs since the cluster exists. */
    char reason[RUN_TEXT_MAX]; /* FAILED: why. FORMING, PAUSED: what is waited for. */
};

const char *run_phase_name(enum run_phase phase); /* "forming", ... Static storage. */
/* False: no phase has that name. */
bool run_phase_parse(const char *name, enum run_phase *out);
const char *recovery_kind_name(enum recovery_kind kind);
/* All names, NULL-ended. */
extern const char *const run_phase_names[];
extern const char *const recovery_kind_names[];

#endif
