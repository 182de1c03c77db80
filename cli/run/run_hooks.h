/*
 * cli/run/run_hooks.h: the hooks of a job's model (tanist/model.h), called in the process of
 * `tanist run`: with --local after each step, on a cluster as its agent observes it.
 *
 * Threads: the main thread. Blocking: a hook, and the request of should_stop for a few seconds.
 */
#ifndef CLI_RUN_RUN_HOOKS_H
#define CLI_RUN_RUN_HOOKS_H

#include "common/base/error.h"
#include "common/cluster/run.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"
#include "common/zk/zk_sync.h"
#include "tanist/model.h"

struct run_hooks {
    const struct tn_hooks *hooks; /* NULL: there are none. */
    void *user;
    struct tn_progress progress;
    uint64_t since_wall_ms; /* Older entries of the history are those of earlier starts. */
    bool started, stopping;
    struct zk_sync *session; /* Holds the request to stop. */
};

/* The hooks of the job's model, if it has code. */
void run_hooks_open(struct run_hooks *hooks, const struct job *job);
/* Call `ended`, if `started` was called, and close the session. */
void run_hooks_close(struct run_hooks *hooks, enum tn_status status);

/* Training has begun; repeated calls are ignored. */
void run_hooks_start(struct run_hooks *hooks, const struct run *run);
/* `step` is the highest known one; repeated calls with the same step are ignored. */
void run_hooks_step(struct run_hooks *hooks, const struct run *run, uint64_t step);
void run_hooks_note(struct run_hooks *hooks, const struct run *run,
                    const struct history_entry *entry);

/* Whether should_stop() wants the run to end. */
bool run_hooks_want_stop(struct run_hooks *hooks);
/* On a cluster, to stop the run: send the request of `tanist stop`, once. */
void run_hooks_stop_cluster(struct run_hooks *hooks, const char *connect, const char *credentials,
                            const char *cluster);

#endif
