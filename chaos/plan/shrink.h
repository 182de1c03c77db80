/*
 * chaos/plan/shrink.h: the fewest faults of a schedule that still make a round fail: delta
 * debugging (ddmin: Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
 * It returns the subset to try next and takes the result. The caller runs each try, several times
 * if needed, because real runs are not deterministic. Pure.
 *
 *     shrink_init(&shrink, schedule.count);
 *     while (shrink_next(&shrink, subset)) shrink_result(&shrink, fails(subset));
 *
 * At the end `kept` is 1-minimal: by the results given, the round passed when any one of these
 * faults was left out. The first try has no fault: if it fails, no fault is the cause.
 */
#ifndef CHAOS_PLAN_SHRINK_H
#define CHAOS_PLAN_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

#include "chaos/plan/fault.h"

enum shrink_phase {
    SHRINK_NONE, /* Trying no fault at all. */
    SHRINK_PARTS,
    SHRINK_RESTS, /* All but one part. */
    SHRINK_DONE
};

struct shrink {
    enum shrink_phase phase;
    uint32_t count;                            /* All faults of the schedule. */
    uint32_t kept_count, kept[INJECTIONS_MAX]; /* Indices of the smallest set known to fail. */
    uint32_t parts, part; /* The number of parts of `kept`; the part that is tried now. */
    uint32_t tries;       /* Results so far. */
};

/* Begin with `count` faults, which together make a round fail; at most INJECTIONS_MAX. */
void shrink_init(struct shrink *shrink, uint32_t count);
/* Set `subset[i]` if the next try includes fault i, for all i below `count`. False: shrinking is
 * done, and `subset` is `kept`. */
bool shrink_next(const struct shrink *shrink, bool *subset);
/* The result of the last try of shrink_next(), which returned true. */
void shrink_result(struct shrink *shrink, bool failed);

#endif
