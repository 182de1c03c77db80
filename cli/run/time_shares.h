/*
 * cli/run/time_shares.h: where the time of a run goes: the shares of the phases in which its nodes
 * count their time (common/base/time_spent.h). The nodes of this agent count in files in DIR/times;
 * a run in one process counts in its memory.
 *
 * Threads: the owner's. Blocking: on the disk, for small files.
 */
#ifndef CLI_RUN_TIME_SHARES_H
#define CLI_RUN_TIME_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/time_spent.h"

enum { TIME_SHARES_MAX = TIME_PHASES + 2 };

struct time_shares {
    const char *dir; /* The run's folder. Borrowed. NULL: nothing is measured. */
    double taken_at_ms;
    /* At that time, of all tasks. */
    uint64_t counts[TIME_PHASES];
    uint32_t count;
    struct time_share {
        const char *name; /* "worker_compute" */
        double share;     /* Out of 1, the time of one task. */
    } list[TIME_SHARES_MAX];
};

/* Before the nodes start: they count if the folder exists. What earlier starts left is removed. */
void time_shares_open(struct time_shares *shares, const char *dir, double now_ms);

/* Fill the list with the shares since the last time. False: that was only some milliseconds ago, or
 * nothing was counted. */
bool time_shares_take(struct time_shares *shares, double now_ms);

#endif
