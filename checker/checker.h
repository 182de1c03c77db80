/*
 * checker/checker.h: watches the world from outside, knows the protocol's promises and nothing of
 * how they are kept. It sees each transaction ZooKeeper commits and each frame that is delivered.
 *
 *  I1   Epochs never go back: each office is above the last; over a wiped ensemble, above what any
 *       disk names.
 *  I2   Only the holder of the newest office gives orders: /run's epoch is /chief's.
 *  I3   Generations only grow; an order to run follows an order to load it; checkpoint ids are
 *       never used twice.
 *  I4   A committed checkpoint is whole and durable on the disks, and holds exactly the values of
 *       its step.
 *  I5   A restore picks the newest committed checkpoint that is intact.
 *  I6   Sync: values a ps sends are, bit for bit, those of their step in an undisturbed run.
 *  I7   Async: no ps answers further ahead than the bound; a cut counts each contribution once (the
 *       ledger).
 *  I8   The end: status done, at the step asked for, with the digest of an undisturbed run.
 *  I9   Garbage collection spares what the newest committed manifest names.
 *  I10  After faults end, training goes on and ends within a bound, with no hand.
 *
 * docs/fault-tolerance.md has them with the rules that keep them.
 */
#ifndef CHECKER_CHECKER_H
#define CHECKER_CHECKER_H

#include "checker/zk_tree.h"
#include "common/base/digest.h"
#include "common/cluster/job.h"
#include "common/cluster/manifest.h"
#include "common/cluster/run.h"
#include "common/cluster/znodes.h"

enum { CHECKER_TEXT_MAX = 256 };

enum shard_state {
    SHARD_WHOLE,   /* Durable, with the digest that the manifest names. */
    SHARD_DAMAGED, /* A fault was done to its bytes. */
    SHARD_GONE,    /* Not there, or never what the manifest says. */
};

/*
 * What the checker sees besides transactions, and where its words go. All are called from within
 * the checker's own functions; texts are borrowed for the call.
 */
struct checker_view {
    void *ctx;
    void (*log)(void *ctx, const char *text);  /* The story, a line each; NULL: nobody listens. */
    void (*fail)(void *ctx, const char *text); /* A rule is broken: "I3: generation 4 after 5". */
    /* A shard of a committed checkpoint on the disks; its values in `*values` (NULL is allowed)
     * where they can be read. NULL: the disks cannot be seen (I4, I5, I9 are not checked). */
    enum shard_state (*shard)(void *ctx, const struct manifest *manifest, uint32_t shard,
                              const float **values);
    /* The highest epoch that a disk names; NULL: it is guessed from what was committed. */
    uint64_t (*highest_epoch)(void *ctx);
    /* An undisturbed run after `step` steps; NULL: not known, then nothing is `exact`. */
    const float *(*values)(void *ctx, uint64_t step);
    struct digest (*digest)(void *ctx, uint64_t step);
};

struct checker_config {
    struct checker_view view;
    const struct job *job;
    size_t parameters;          /* Of the model; where values are checked. */
    bool exact_steps;           /* Sync: every step's values are a pure function. */
    bool exact_cuts;            /* The same of checkpoints and the end: sync, or the ledger. */
    const struct zk_tree *tree; /* With every transaction that was told of applied; where the disks
                                   can be seen. */
};

struct checker {
    struct checker_config config;
    struct chief_record chief;
    bool has_chief;
    struct run run;
    bool has_run;
    uint64_t epoch_floor; /* Epochs of orders after a wipe are above it. */
    uint64_t generation_before_wipe;
    uint64_t pushed_generation;          /* Of `pushed`: */
    uint64_t pushed[PS_MAX][SLICES_MAX]; /* Async: the steps below this one have reached the ps. */
    uint64_t highest_id;                 /* Of a committed checkpoint, */
    uint64_t highest_epoch;              /* and who committed it; */
    uint64_t older_epoch;                /* of those before it: surely copied to a disk. */
    uint64_t loads, restores, commits, elections, values_checked;
    bool done;
};

void checker_init(struct checker *checker, const struct checker_config *config);

/* Observer of the ensemble. */
void checker_on_txn(void *ctx, const struct zk_txn *txn);
/* A push of `slice` at `step` reached a ps. */
void checker_on_push(struct checker *checker, uint64_t generation, uint64_t step, uint32_t shard,
                     uint32_t slice);
/* A ps of `shard` (of `shards`) sent the values of `step`. */
void checker_on_values(struct checker *checker, uint64_t generation, uint64_t step, uint32_t shard,
                       uint32_t shards, const float *values, size_t count);
/* The ensemble was wiped: what follows is told of a new, empty one. */
void checker_on_wipe(struct checker *checker);

#endif
