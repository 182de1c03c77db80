/*
 * chaos/cluster/subprocess.h: a command of ours that an injector starts, and looks at later:
 * `tanist resign`, a node started by hand.
 *
 * Threads: the main thread. Blocking: none but the start, about 1 ms; subprocess_stop() until the
 * process is dead.
 */
#ifndef CHAOS_CLUSTER_SUBPROCESS_H
#define CHAOS_CLUSTER_SUBPROCESS_H

#include <stdbool.h>

#include "agent/process.h"
#include "chaos/cluster/targets.h"

struct subprocess {
    struct process process; /* pid 0: none, or it has ended. */
    bool ended;
    int exit_code, signal; /* Then. */
    char log[TARGET_PATH_MAX + 64];
};

/*
 * Start `cluster->program` with these words (words[0] is "tanist"; NULL-ended), in the run's
 * environment and in the network of `place` (NULL: ours). What it says goes to
 * DIR/scratch/NAME.log, which begins empty. TN_EIO.
 */
MUST_CHECK enum tn_status subprocess_start(const struct target_cluster *cluster, const char *place,
                                           const char *name, const char *const *words,
                                           struct subprocess *out, struct error *error);

/* Whether it has ended, or was never started. */
bool subprocess_has_ended(struct subprocess *subprocess);

/* Kill it if it lives still. */
void subprocess_stop(struct subprocess *subprocess);

/* "exit code 3 (invalid input): tanist: the cluster ..." with the last line of its log. */
void subprocess_describe(const struct subprocess *subprocess, char *text, size_t size);

#endif
