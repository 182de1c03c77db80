/*
 * chaos/history/recovery.h: how long it took the cluster to get over each fault, out of a round's
 * history; percentiles over many. Pure but for memory.
 *
 * A fault counts if it cost the chief its office, stopped the workers, or made training stand still
 * for STALL_MS. Its recovery is a chain of phases that follow each other:
 *
 *   detect   the fault ... the first sign of it in the cluster (a task lost, a pause, a new chief)
 *   elect    ... a new chief in office; null if no chief was struck
 *   restore  ... workers are let go on; null if they never were held
 *   resume   ... the first sample of a step beyond; null if training never stood still
 *
 * Threads: any; nothing is shared.
 */
#ifndef CHAOS_HISTORY_RECOVERY_H
#define CHAOS_HISTORY_RECOVERY_H

#include <jansson.h>

#include "chaos/history/timeline.h"

enum { STALL_MS = 500, RECOVERY_PHASES = 4 };

/* The phases in their order, and then the whole of them, "total". */
extern const struct recovery_phase {
    const char *name; /* "detect" */
    const char *key;  /* "detect_ms": of the object of a recovery. */
} recovery_phases[RECOVERY_PHASES + 1];

/*
 * All of a round, ordered by time; a new reference, NULL: out of memory. Of each:
 *
 *   id, fault, whom, targets, point, at_ms, group ("kill chief", "kill ps": what can be compared)
 * (null id, fault "unprovoked": nobody's fault that we know) detect_ms, elect_ms, restore_ms,
 * resume_ms, total_ms (null: does not apply, or not over) failover_ms (fault ... new chief; null:
 * no chief was struck) recovered (false: the history ends before), paused_ms, steps_redone (null:
 * not told) epochs [before, after]
 */
json_t *recovery_list(const struct timeline *timeline);

/*
 * Of recoveries, of one round or of many, in ms:
 *
 *   phases    {"detect", "elect", "restore", "resume", "total": spread}
 *   by_fault  {FAULT: spread of total_ms}, by_group {GROUP: the same}
 *   failover  {GROUP: spread of failover_ms}
 *
 * A spread is {count, p50, p90, p99, max}; what has no value at all has none. A new reference;
 * NULL: out of memory.
 */
json_t *recovery_percentiles(const json_t *recoveries);

/* Values by nearest rank; {count, p50, p90, p99, max}. `values` is sorted. NULL: none, or out of
 * memory. */
json_t *recovery_spread(double *values, size_t count);

/* {"steps", "seconds", "steps_per_s", "calm_steps_per_s", "goodput", "availability"} of the time
 * from the first step to the last; null what cannot be known. Availability: the share of it in
 * which workers were let work. */
json_t *recovery_goodput(const struct timeline *timeline);

#endif
