/*
 * checker/judge.h: applies the checker of simulated runs to a real one. The transaction logs of the
 * run's ZooKeeper servers contain every order, and what each write was conditional on. They do not
 * show the disks: I1, I2, I3 and I8 are checked, and that each order was fenced.
 *
 * Threads: any, one owner. Blocking: on the disk.
 */
#ifndef CHECKER_JUDGE_H
#define CHECKER_JUDGE_H

#include "common/base/error.h"
#include "common/cluster/run.h"
#include "common/job/job.h"

enum { JUDGE_TEXT_MAX = 320 };

struct judge_input {
    const struct job *job;
    /* The folders with the servers' data, N/data/version-2 for N = 1 and up. There is more than one
     * if the ensemble was wiped: oldest first; the run ended with the last one. */
    const char *const *ensembles;
    uint32_t ensemble_count;
    /* Called for each order and commit, as a line of text with the time of its transaction. May be
     * NULL. */
    void (*on_event)(void *ctx, uint64_t wall_ms, const char *text);
    /* Called for each znode that the last ensemble ended with; `owner` is the session that owns an
     * ephemeral one. May be NULL. */
    void (*on_znode)(void *ctx, const char *path, uint64_t owner, const void *data, size_t size);
    void *ctx;
};

/* The numbers of znodes at the end of a run, by kind. */
struct judge_census {
    uint64_t members, candidates, exits, checkpoints, history, requests;
    uint64_t others; /* Their number is fixed: folders, /spec, /chief, /run, /assignment. */
};

struct judgement {
    bool passed;               /* No rule was broken and no transaction is missing. */
    char text[JUDGE_TEXT_MAX]; /* "no rule broken", or the first finding. */
    uint64_t transactions, elections, loads, restores, commits;
    uint64_t missing;           /* Transactions that are in no log. */
    uint64_t znodes;            /* At the end of the last ensemble, without the root. */
    struct judge_census census; /* The number of znodes of each kind. */
    uint32_t servers;           /* Servers of the last ensemble whose logs were read. */
    bool has_run;
    struct run run; /* The last order. */
};

/*
 * Judge a run. A former ensemble may have no transactions (it was wiped before the first one); the
 * last one must have some.
 *
 *   TN_ENOENT    the folder of an ensemble does not exist, or the servers of the last one logged
 *                nothing
 *   TN_EIO, TN_ECORRUPT  a log cannot be read, or is not a transaction log; the error names it
 *   TN_ENOMEM    out of memory
 */
MUST_CHECK enum tn_status judge_run(const struct judge_input *input, struct judgement *out,
                                    struct error *error);

#endif
