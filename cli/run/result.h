/* cli/run/result.h: what a run came to, as the object that `tanist run -o json` prints. Pure. */
#ifndef CLI_RUN_RESULT_H
#define CLI_RUN_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "common/cluster/job.h"
#include "common/cluster/znodes.h"

struct result {
    const struct job *job;
    json_t *recoveries; /* Owned. */
    double seconds;
};

/* TN_ENOMEM is told by `recoveries` NULL; harmless. */
void result_init(struct result *result, const struct job *job);
void result_free(struct result *result);

/* Show it every history entry. */
void result_note(struct result *result, const struct history_entry *entry);

/* It ended because an operator wanted it, before training began: RUN_FAILED, but no failure. */
bool result_run_was_stopped(const struct run *run);

/* The object for `run`, which has ended or was left; malloc'ed text, NULL: out of memory. `status`:
 * "done", "failed", "stopped". */
char *result_json(const struct result *result, const struct run *run, const char *status);

/* The same in a few lines for people. */
char *result_text(const struct result *result, const struct run *run, const char *status);

#endif
