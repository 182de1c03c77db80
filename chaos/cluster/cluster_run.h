/*
 * chaos/cluster/cluster_run.h: the run under attack as a process: `tanist run JOB --dir DIR`, with
 * the environment that lets the harness find its processes and reach into them. It dies with the
 * harness.
 *
 * Threads: the main thread. Blocking: the start, for about 1 ms.
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
    const char *networks; /* File for --networks; NULL: none. */
    struct process process;
    char mark[MARK_MAX]; /* NAME=VALUE */
    char variables[CLUSTER_RUN_VARIABLES][CLUSTER_RUN_TEXT_MAX];
    char **environment; /* Owned. */
    uint32_t starts;
};

/* Nothing runs yet. `shim`: path of tanist-faults.so to preload, NULL: none; `faults`: path of the
 * fault control. Borrows the rest. TN_ENOMEM. */
MUST_CHECK enum tn_status cluster_run_init(struct cluster_run *run, struct target_cluster *cluster,
                                           const char *networks, const char *shim,
                                           const char *faults, struct error *error);
void cluster_run_free(struct cluster_run *run); /* Kills what runs still. */

/* Start it, from the second time on with --resume. Its words are appended to DIR/run.log. TN_EIO.
 */
MUST_CHECK enum tn_status cluster_run_start(struct cluster_run *run, struct error *error);

/* True: it has ended, with this exit status (128 + signal where it was killed). Once. */
bool cluster_run_ended(struct cluster_run *run, int *exit_code);

/* SIGKILL to every process that carries the mark, until none is left or `limit_ms` have passed.
 * Blocks. */
void cluster_run_kill(struct cluster_run *run, uint32_t limit_ms);

/* What it printed as its result; a new reference, NULL: none. */
json_t *cluster_run_result(const struct cluster_run *run);

#endif
