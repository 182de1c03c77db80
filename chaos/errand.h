/*
 * chaos/errand.h: a command of ours that an injector starts, and looks at later: `tanist resign`, a
 * node started by hand.
 *
 * Threads: the main thread. Blocking: none but the start, about 1 ms; errand_stop() until the
 * process is dead.
 */
#ifndef CHAOS_ERRAND_H
#define CHAOS_ERRAND_H

#include <stdbool.h>

#include "agent/process.h"
#include "chaos/arena.h"

struct errand {
    struct process process; /* pid 0: none, or it has ended. */
    bool ended;
    int exit_code, signal; /* Then. */
    char log[ARENA_PATH_MAX + 64];
};

/*
 * Start `arena->program` with these words (words[0] is "tanist"; NULL-ended), in the run's
 * environment and in the network of `place` (NULL: ours). What it says goes to
 * DIR/scratch/NAME.log, which begins empty. TN_EIO.
 */
MUST_CHECK enum tn_status errand_start(const struct arena *arena, const char *place,
                                       const char *name, const char *const *words,
                                       struct errand *out, struct error *error);

/* Whether it has ended, or was never started. */
bool errand_look(struct errand *errand);

/* Kill it if it lives still. */
void errand_stop(struct errand *errand);

/* "exit code 3 (invalid input): tanist: the cluster ..." with the last line of its log. */
void errand_describe(const struct errand *errand, char *text, size_t size);

#endif
