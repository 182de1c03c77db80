/*
 * checker/judge.h: judge a real run by the checker of the simulated ones: its servers' transaction
 * logs say everything that was ever ordered, with what each write was conditional on. The disks
 * cannot be seen from there: I1, I2, I3 and I8 are checked, and that each order was fenced.
 *
 * Threads: any, one owner. Blocking: on the disk.
 */
#ifndef CHECKER_JUDGE_H
#define CHECKER_JUDGE_H

#include "common/base/error.h"
#include "common/cluster/job.h"
#include "common/cluster/run.h"

enum { JUDGE_TEXT_MAX = 320 };

struct judge_input {
    const struct job *job;
    /* Where the servers' data are: each has N/data/version-2 for N = 1 and up. More than one when
     * the ensemble was wiped: oldest first; the last is the one that the run ended with. */
    const char *const *ensembles;
    uint32_t ensemble_count;
    /* Told of each line of the story, with the wall clock of its transaction; NULL: of none. */
    void (*on_event)(void *ctx, uint64_t wall_ms, const char *text);
    /* Told of each znode that the last life ended with; `owner`: of an ephemeral one; NULL. */
    void (*on_znode)(void *ctx, const char *path, uint64_t owner, const void *data, size_t size);
    void *ctx;
};

/* Znodes at the end of a run, by what they are. */
struct judge_census {
    uint64_t members, candidates, exits, checkpoints, history, requests;
    uint64_t others; /* Whose number is fixed: folders, /spec, /chief, /run, /assignment. */
};

struct judgement {
    bool passed;               /* No rule is broken, no transaction is missing. */
    char text[JUDGE_TEXT_MAX]; /* "no rule broken", or the first that is. */
    uint64_t transactions, elections, loads, restores, commits;
    uint64_t missing;           /* Transactions that happened and are in no log. */
    uint64_t znodes;            /* At the end of the last life, without the root. */
    struct judge_census census; /* Of them. */
    uint32_t servers;           /* Of the last life. */
    bool has_run;
    struct run run; /* The last that was ordered. */
};

/*
 * A former life may be without any transaction (it was wiped again before it had one); the last may
 * not.
 *
 *   TN_ENOENT    the folder of a life is not there, or the last one's servers logged nothing
 *   TN_EIO, TN_ECORRUPT  a log cannot be read, or is none: it is named
 */
MUST_CHECK enum tn_status judge_run(const struct judge_input *input, struct judgement *out,
                                    struct error *error);

#endif
