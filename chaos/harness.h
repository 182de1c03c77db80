/*
 * chaos/harness.h: what a round and an attack have in common: the target cluster, the watcher that
 * observes it, the nemesis that injects the faults of a schedule, and the history they write.
 *
 * Call harness_init(), harness_create_history() and harness_begin() in this order, poll the watcher
 * and step the nemesis, then call harness_judge(); harness_close() works after any of them.
 *
 * Threads: the main thread. Blocking: as the watcher and the injectors do.
 */
#ifndef CHAOS_HARNESS_H
#define CHAOS_HARNESS_H

#include <jansson.h>

#include "chaos/cluster/watcher.h"
#include "chaos/inject/nemesis.h"
#include "chaos/outcome.h"
#include "chaos/plan/plan.h"

struct harness_config {
    const struct job *job;
    const struct plan *plan;
    const struct schedule *schedule;
    const struct probe *probe;
    uint64_t seed;
    uint32_t round;
    const char *command;    /* The user's, for the report; NULL: not recorded. */
    const char *attacked;   /* Connect string of a remote cluster; NULL: not remote. */
    const json_t *baseline; /* Result of the baseline run; NULL: none. */
    void (*log)(void *ctx, const char *text); /* A line for people. */
    void *ctx;
};

/* Read it freely; change only `cluster`, between harness_init() and harness_begin(). */
struct harness {
    struct harness_config config;
    struct target_cluster cluster;
    struct history_file *history;
    struct watcher *watcher;
    struct nemesis *nemesis;
    char history_path[TARGET_PATH_MAX + 16];
    uint64_t started_ms; /* Monotonic. */
};

/* Borrows what `config` points to. */
void harness_init(struct harness *harness, const struct harness_config *config);

/* Create DIR/history.jsonl. TN_EIO, TN_ENOSPC. */
MUST_CHECK enum tn_status harness_create_history(struct harness *harness, const char *dir,
                                                 struct error *error);

/* Record the beginning and the schedule, and create the watcher and the nemesis. TN_ENOMEM. */
MUST_CHECK enum tn_status harness_begin(struct harness *harness, struct error *error);

double harness_seconds(const struct harness *harness); /* Since harness_init(). */

/* Log a line that begins with the time; `ctx` is the harness. */
void harness_log(void *ctx, const char *text);

/* Record that the run was "started", "ended" or started "again". */
void harness_record_run(struct harness *harness, const char *state, int exit_code);
/* Record the end; `result` may be NULL. */
void harness_record_end(struct harness *harness, int exit_code, json_t *result);

/* A verdict on a history: {"ok", "checks"}, a new reference. NULL: out of memory. */
typedef json_t *harness_judge_function(void *ctx, const json_t *history);

/* Judge the history that was written so far, record the verdict and fill all of `outcome` except
 * `stopped`. TN_ENOMEM; TN_EIO, TN_EINVAL: the history cannot be read. */
MUST_CHECK enum tn_status harness_judge(struct harness *harness, harness_judge_function *judge,
                                        void *ctx, struct outcome *outcome, struct error *error);

/* Free everything and close the history. Returns `status`, or, if that is TN_OK, the error of a
 * line that could not be written. */
MUST_CHECK enum tn_status harness_close(struct harness *harness, enum tn_status status,
                                        struct error *error);

#endif
