/*
 * chaos/judge/verdict.h: whether a round kept the promises. Each check says what it compared; none
 * can pass without having looked.
 *
 * Threads: the main thread (it starts a program). Blocking: reads the run's folder, runs `tanist
 * checkpoints verify`, waits up to 3 s for those who are leaving.
 */
#ifndef CHAOS_JUDGE_VERDICT_H
#define CHAOS_JUDGE_VERDICT_H

#include <jansson.h>

#include "chaos/cluster/targets.h"

enum { VERDICT_FORMER_MAX = 63 };

struct verdict_input {
    const struct target_cluster *cluster;
    const json_t *history; /* All lines so far, as history_read(). */
    const json_t *calm;    /* Of the calm run: "parameters_digest" or "digest", "accuracy", "znodes"
                            * (how many at its end). */
    const json_t *result;  /* The attacked run's result; NULL: it printed none. */
    int exit_code;         /* Of the run. */
    const char *mark;      /* NAME=VALUE in the environment of every process of the run. */
    uint64_t recover_within_ms; /* The bound on each recovery. */
    /* ZooKeeper's data folders of former lives of the ensemble (moved aside by "wipe"), oldest
     * first; DIR/run/zookeeper is the last. More than VERDICT_FORMER_MAX are not looked at: then
     * "orders" fails. */
    const char *const *former_zookeepers;
    uint32_t former_count;
};

/*
 * The "verdict" object of the history: {"ok": bool, "checks": [{"name", "ok", "text"}]}, with the
 * checks: ended, digest (sync) or accuracy (async), refusals, crashes, orders (the checker over all
 * transactions), checkpoints, recovery, memory, descriptors, threads, znodes, disk, nothing-left.
 * NULL: out of memory.
 */
json_t *verdict_give(const struct verdict_input *input);

/* The checks of a verdict that failed, "digest: ...; orders: ...", for people; "" when none did.
 * Cut off where there is no more room. */
void verdict_list_broken(const json_t *verdict, char *text, size_t size);

/* The znodes at the end of a run, for `calm`: DIR/job.json and DIR/zookeeper are read. TN_ENOENT,
 * TN_EIO, TN_ECORRUPT. */
MUST_CHECK enum tn_status verdict_count_znodes(const char *run_dir, uint64_t *count,
                                               struct error *error);

#endif
