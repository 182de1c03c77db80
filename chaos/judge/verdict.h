/*
 * chaos/judge/verdict.h: whether a round passed. Each check states what it compared, and fails if
 * its evidence is missing.
 *
 * Threads: the main thread, since it starts a process. Blocking: reads the run's folder, runs
 * `tanist checkpoints verify`, and waits up to 3 s for processes that are still exiting.
 */
#ifndef CHAOS_JUDGE_VERDICT_H
#define CHAOS_JUDGE_VERDICT_H

#include <jansson.h>

#include "chaos/cluster/targets.h"

enum { VERDICT_FORMER_MAX = 63 };

struct verdict_input {
    const struct target_cluster *cluster;
    const json_t *history;      /* All lines so far, as history_read() returns them. */
    const json_t *baseline;     /* Result of the baseline run: "parameters_digest" or "digest",
                                 * "accuracy", "znodes" (their number at its end). */
    const json_t *result;       /* The attacked run's; NULL: it wrote none. */
    int exit_code;              /* The attacked run's. */
    const char *mark;           /* NAME=VALUE in the environment of every process of the run. */
    uint64_t recover_within_ms; /* The bound on each recovery. */
    unsigned allowed_skips;     /* A set of `enum need`: faults that need these may be skipped. */
    bool may_be_idle;           /* A round in which no fault was injected is judged as well. */
    /* Data folders of former ensembles, which "wipe" moved aside, oldest first; the last one is
     * RUN_DIR/zookeeper. With more than VERDICT_FORMER_MAX the check "orders" fails. */
    const char *const *former_zookeepers;
    uint32_t former_count;
};

/*
 * The "verdict" object of the history: {"ok": bool, "checks": [{"name", "ok", "text"}]}, with the
 * checks: faults, ended, digest (sync) or accuracy (async), orders (the checker over all
 * transactions), znodes, checkpoints, refusals, crashes, exits, recovery, memory, descriptors,
 * threads, disk, nothing-left. A new reference. NULL: out of memory.
 */
json_t *verdict_make(const struct verdict_input *input);

/* The number of znodes at the end of a run, for `baseline`: reads RUN_DIR/job.json and
 * RUN_DIR/zookeeper. TN_ENOENT, TN_EIO, TN_ECORRUPT. */
MUST_CHECK enum tn_status verdict_count_znodes(const char *run_dir, uint64_t *count,
                                               struct error *error);

#endif
