/*
 * chaos/cluster/cluster_run.h: the run under attack as a process: `tanist run JOB --dir DIR`, in an
 * environment by which the harness finds the run's processes and controls their failpoints. It ends
 * with the harness.
 *
 * Threads: the main thread. Blocking: cluster_run_start() for about 1 ms, cluster_run_kill() as
 * stated.
 */
#ifndef CHAOS_CLUSTER_CLUSTER_RUN_H
#define CHAOS_CLUSTER_CLUSTER_RUN_H

#include <jansson.h>

#include "agent/process.h"
#include "chaos/cluster/targets.h"

/* Every process of a run carries MARK_VARIABLE=<32 hexadecimal digits> in its environment. */
#define MARK_VARIABLE "TANIST_CHAOS_MARK"

enum { CLUSTER_RUN_VARIABLES = 4, CLUSTER_RUN_TEXT_MAX = 1200, MARK_MAX = 64 };

struct cluster_run {
    struct target_cluster *cluster;
    const char *networks; /* Path for --networks; NULL: none. */
    struct process process;
    char mark[MARK_MAX]; /* NAME=VALUE */
    char variables[CLUSTER_RUN_VARIABLES][CLUSTER_RUN_TEXT_MAX];
    char **environment; /* Owned. */
    uint32_t starts;
};

/* Prepare the environment; no process is started. `shim`: path of tanist-faults.so to preload,
 * NULL: none; `faults`: path of the fault control. Borrows `cluster` and `networks`. TN_ENOMEM. */
MUST_CHECK enum tn_status cluster_run_init(struct cluster_run *run, struct target_cluster *cluster,
                                           const char *networks, const char *shim,
                                           const char *faults, struct error *error);
void cluster_run_free(struct cluster_run *run); /* Kills the run if it has not ended. */

/* Start the run; with --resume if it was started before. Its output is appended to DIR/run.log.
 * TN_EIO. */
MUST_CHECK enum tn_status cluster_run_start(struct cluster_run *run, struct error *error);

/* True, once: the run has ended with this exit status (128 + signal if a signal ended it). */
bool cluster_run_ended(struct cluster_run *run, int *exit_code);

/* Send SIGKILL to every process with the mark until none is left, for at most `limit_ms`. */
void cluster_run_kill(struct cluster_run *run, uint32_t limit_ms);

/* RUN_DIR/result.json, a new reference; NULL: the run wrote none. */
json_t *cluster_run_result(const struct cluster_run *run);

#endif
