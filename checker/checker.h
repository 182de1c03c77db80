/*
 * checker/checker.h: checks the guarantees of the protocol from outside, without knowledge of the
 * code that implements them. It sees each transaction that ZooKeeper commits and, in the simulator,
 * each frame that is delivered and the contents of the disks.
 *
 *  I1   Epochs never decrease: each chief's epoch is above the last; over a wiped ensemble, above
 *       all that any disk holds.
 *  I2   Only the newest chief gives orders: the epoch of /run is that of /chief.
 *  I3   Generations only grow; an order to run follows an order to load it; checkpoint ids are
 *       never used twice: a checkpoint that was ordered counts as long as /run or a disk shows it.
 *  I4   A committed checkpoint is complete and durable on the disks, and holds exactly the values
 *       of its step.
 *  I5   A restore uses the newest committed checkpoint that is intact.
 *  I6   Sync: the values that a ps sends are, bit for bit, those of their step in an undisturbed
 *       run.
 *  I7   Async: no ps answers further ahead than `max_staleness`; a checkpoint counts each
 *       contribution once.
 *  I8   The end: phase done, at the requested step, or, sync, where an undisturbed run stops early
 *       (later if /run was lost), with the digest of an undisturbed run.
 *  I9   Garbage collection spares everything that the newest committed manifest names.
 *  I10  When faults end, training continues and ends within a bound, without an operator unless
 *       every checkpoint is damaged. The bound holds from the last commit of a later step: how
 *       long a step takes depends on the network.
 *  I12  A run starts from the initial values only while nothing is committed, or after an operator
 *       accepted the loss.
 *  I13  The step at which a run is reported to pause is not below that of its committed checkpoint.
 *  I14  Every multiple of `evaluate.every_steps` is evaluated, before a checkpoint of that step or
 *       a later one is committed; every multiple of `checkpoint.every_steps` is committed or
 *       recorded as skipped.
 *  I15  A drained ps leaves when training has stopped at a committed checkpoint, and the next load
 *       starts exactly there.
 *  I16  Each manifest names the best of the checkpoints up to it, by `checkpoint.best`; it is
 *       spared with the newest. With an evaluator, of those evaluated, unless the run went back.
 *  I17  Results of the evaluator count once, each of a committed checkpoint; while the faults spare
 *       /run. Sync: they are of the values of an undisturbed run.
 *  I20  Without ps, a worker that leaves is released only while training continues without a gate.
 *
 * docs/fault-tolerance.md names the rules that ensure each of them.
 *
 * Threads: one owner.
 */
#ifndef CHECKER_CHECKER_H
#define CHECKER_CHECKER_H

#include "checker/best_seen.h"
#include "checker/drained.h"
#include "checker/pace.h"
#include "checker/reached.h"
#include "checker/released.h"
#include "checker/zk_tree.h"
#include "common/base/digest.h"
#include "common/cluster/manifest.h"
#include "common/cluster/run.h"
#include "common/cluster/variables.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"

enum { CHECKER_TEXT_MAX = 256 };

enum shard_state {
    SHARD_WHOLE,   /* Durable, with the digest in the manifest. */
    SHARD_DAMAGED, /* A fault changed its bytes. */
    SHARD_GONE,    /* Missing, or it never had the contents in the manifest. */
};

/*
 * The checker's view besides transactions, and the receivers of its messages. All functions are
 * called from within the checker's own functions; texts are borrowed for the call.
 */
struct checker_view {
    void *ctx;
    void (*log)(void *ctx, const char *text); /* One line for each order and commit. May be NULL. */
    void (*fail)(void *ctx,
                 const char *text); /* A guarantee is broken: "I3: generation 4 after 5". */
    /* The state of a shard of a committed checkpoint on the disks. Its values, where they can be
     * read, are stored in `*values`; `values` may be NULL. NULL: the disks cannot be seen, so I4,
     * I5 and I9 are not checked. */
    enum shard_state (*shard)(void *ctx, const struct manifest *manifest, uint32_t shard,
                              const float **values);
    /* The highest epoch on any disk; NULL: estimated from the checkpoints that were committed. */
    uint64_t (*highest_epoch)(void *ctx);
    /* The highest id of a checkpoint of which a disk has a shard, committed or not; NULL: unknown,
     * so only committed checkpoints count. */
    uint64_t (*highest_checkpoint)(void *ctx);
    /* The values and their digest after `step` steps of an undisturbed run. NULL: unknown; then
     * neither `exact_steps` nor `exact_cuts` may be set. */
    const float *(*values)(void *ctx, uint64_t step);
    struct digest (*digest)(void *ctx, uint64_t step);
    /* Sync: the step at which an undisturbed run ends. NULL: unknown if it may stop early. */
    uint64_t (*end)(void *ctx);
};

struct checker_config {
    struct checker_view view;
    const struct job *job;
    const struct variable_table *variables; /* The model's; used where values are checked. */
    bool exact_steps; /* Sync, or async with one slice whose worker does not die (A8): each step's
                         values are those of the undisturbed run. */
    bool exact_cuts;  /* The steps of checkpoints and of the end are those of the undisturbed run,
                         too. */
    /* The tree with every transaction that the checker has seen applied; used where the disks can
     * be seen. */
    const struct zk_tree *tree;
};

struct checker {
    struct checker_config config;
    struct chief_record chief;
    bool has_chief;
    struct run run;
    bool has_run;
    uint64_t epoch_floor; /* Epochs of orders after a wipe must be above it. */
    uint64_t generation_before_wipe;
    uint64_t pushed_generation; /* The generation of `pushed`. */
    /* Async, by ps and slice: the steps below this one have reached the ps. */
    uint64_t pushed[PS_MAX][SLICES_MAX];
    uint64_t ordered_id;   /* The newest checkpoint that was ordered, */
    uint64_t ordered_step; /* and its step; 0 after a wipe. */
    uint64_t id_floor;   /* Ids that are ordered after a wipe, or without /run, must be above it. */
    uint64_t highest_id; /* The newest committed checkpoint. */
    uint64_t highest_epoch; /* The epoch that committed `highest_id`. */
    uint64_t older_epoch;   /* The highest epoch of the older ones: surely copied to a disk. */
    struct pace evaluations, checkpoints;
    uint64_t loads, restores, commits, elections, values_checked;
    uint64_t evaluated_id; /* The last checkpoint with a result of the evaluator. */
    uint64_t evaluated;    /* Results of the evaluator. */
    uint64_t steps_redone; /* Whose values a ps had sent before a load of an earlier step. */
    struct reached reached;
    struct drained drained;
    struct released released;
    struct best_seen best;
    bool best_lost; /* With /run its best evaluation was lost: the run may stop later (C8). */
    bool foreign;   /* Another program changed znodes: manifests may be missing, and come back. */
    /* That program deleted or damaged the znode, and it was not written since. */
    bool chief_lost, run_lost;
    bool newest_lost;    /* It deleted the newest manifest; until the next commit. */
    bool paused;         /* Transactions are ignored: they are those of another program. */
    bool loss_accepted;  /* An operator asked for it; until the next commit. */
    bool stop_requested; /* By an operator. */
    bool done;
};

void checker_init(struct checker *checker, const struct checker_config *config);

/* A transaction was committed; `ctx` is the checker. */
void checker_on_txn(void *ctx, const struct zk_txn *txn);
/* A push of `slice` at `step` reached the ps of `shard`. */
void checker_on_push(struct checker *checker, uint64_t generation, uint64_t step, uint32_t shard,
                     uint32_t slice);
/* The ps of `shard`, one of `shards`, sent the values of `step`. */
void checker_on_values(struct checker *checker, uint64_t generation, uint64_t step, uint32_t shard,
                       uint32_t shards, const float *values, size_t count);
/* Without ps: this incarnation of a worker has the values of `step`. The sum of a step alone does
 * not show that a worker applies it: a gate may have been ordered meanwhile. */
void checker_on_step(struct checker *checker, uint64_t generation, uint64_t step, uint32_t worker,
                     uint64_t incarnation);
/* The ensemble was wiped: the transactions that follow are those of a new, empty one. */
void checker_on_wipe(struct checker *checker);

#endif
