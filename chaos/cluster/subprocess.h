/*
 * chaos/cluster/subprocess.h: a tanist command that an injector starts and checks later, such as
 * `tanist resign` or a second process for a task.
 *
 * Threads: the main thread. Blocking: subprocess_start() for about 1 ms, subprocess_stop() until
 * the process has ended; the others do not.
 */
#ifndef CHAOS_CLUSTER_SUBPROCESS_H
#define CHAOS_CLUSTER_SUBPROCESS_H

#include <stdbool.h>

#include "agent/process.h"
#include "chaos/cluster/targets.h"

struct subprocess {
    struct process process; /* pid 0: never started, or ended. */
    bool ended;
    int exit_code, signal; /* Valid once it has ended. */
    char log[TARGET_PATH_MAX + 64];
};

/*
 * Start `cluster->program` with these arguments (the first is "tanist"; NULL-terminated), in the
 * run's environment and in the network of `component` (NULL: that of the harness). Its output goes
 * to DIR/scratch/NAME.log, which is emptied first. TN_EIO.
 */
MUST_CHECK enum tn_status subprocess_start(const struct target_cluster *cluster,
                                           const char *component, const char *name,
                                           const char *const *arguments, struct subprocess *out,
                                           struct error *error);

/* True: it has ended, or was never started. */
bool subprocess_has_ended(struct subprocess *subprocess);

/* Send SIGKILL unless it has ended. */
void subprocess_stop(struct subprocess *subprocess);

/* "exit code 3 (invalid input): tanist: the cluster ...": its end and the line of its log that
 * explains it. */
void subprocess_describe(const struct subprocess *subprocess, char *text, size_t size);

#endif
