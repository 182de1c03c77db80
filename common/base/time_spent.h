/*
 * common/base/time_spent.h: how long this process has spent in each phase of its work, for the
 * curves of a run. The counts are in memory, or in a file that an agent reads while they grow:
 * counting takes two readings of the clock and an addition, and never blocks.
 *
 * Threads: any. Blocking: time_spent_share() and time_spent_read() on the disk.
 */
#ifndef COMMON_BASE_TIME_SPENT_H
#define COMMON_BASE_TIME_SPENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

enum time_phase {
    TIME_READ,     /* A worker takes examples from the data. */
    TIME_COMPUTE,  /* A worker computes gradients. */
    TIME_EVALUATE, /* A worker evaluates. */
    TIME_APPLY,    /* A ps adds gradients and updates its parameters. */
    TIME_SAVE,     /* A ps writes a shard, beside training. */
    TIME_PHASES,
};

/* Count the time since clock_monotonic_ns() was `since_ns`. */
void time_spent_add(enum time_phase phase, uint64_t since_ns);

/* From now on, count in the file `path`, and continue the counts that it has. Once per process.
 * TN_ENOENT, TN_EIO, TN_ENOSPC: nothing has changed. */
MUST_CHECK enum tn_status time_spent_share(const char *path, struct error *error);

/* The nanoseconds that this process has counted. */
void time_spent_get(uint64_t out[static TIME_PHASES]);
/* Read the times in a file. False: it does not exist, or is too short. */
bool time_spent_read(const char *path, uint64_t out[static TIME_PHASES]);

#endif
