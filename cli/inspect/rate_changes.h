/*
 * cli/inspect/rate_changes.h: the learning rate of a run at a step, and where `--resume` changed
 * it.
 *
 * Threads: the main thread. Nothing blocks.
 */
#ifndef CLI_INSPECT_RATE_CHANGES_H
#define CLI_INSPECT_RATE_CHANGES_H

#include <jansson.h>
#include <stdint.h>

#include "common/job/job.h"

/* Set `learning_rate`, that of step `step`, and `rate_changed_at`, steps. */
void rate_changes_add(json_t *root, const struct job *job, uint64_t step);

/* A line; nothing without a change. */
void rate_changes_print(const struct job *job, uint64_t step);

#endif
