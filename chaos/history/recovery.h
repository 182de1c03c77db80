/*
 * chaos/history/recovery.h: how long the cluster took to recover from each fault, measured on the
 * timeline of a round; percentiles over many. Pure but for memory.
 *
 * A fault has a recovery if it cost the chief its leadership, stopped the workers, or made training
 * stand still for STALL_MS. A recovery is a chain of phases, each of which begins where the one
 * before it ended:
 *
 *   detect   from the fault to the first symptom: a task is lost, a pause begins, a chief is new
 *   elect    to the begin of the new chief's term; null if the chief was not hit
 *   restore  until workers may train again; null if they were never stopped
 *   resume   to the first sample of a higher step; null if training never stood still
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
    const char *key;  /* "detect_ms": in the object of a recovery. */
} recovery_phases[RECOVERY_PHASES + 1];

/*
 * All recoveries of a round. First come those without a known cause; the others are in the order
 * of their faults. A new reference; NULL: out of memory. Each is an object:
 *
 *   id, fault, "selector", targets, point of the fault; null id and "unprovoked": none is known
 *   group                             recoveries that can be compared: "kill chief", "kill ps"
 *   at_ms, until_ms                   the fault; the end of the recovery, or of the history
 *   detect_ms, elect_ms, restore_ms, resume_ms, total_ms
 *                                     null: does not apply, or is not over
 *   failover_ms                       from the fault to the new chief; null: the chief was not hit
 *   recovered                         false: the history ends before the recovery does
 *   paused_ms, steps_redone           by the chief's event; null: not known
 *   epochs                            [before, after]
 */
json_t *recovery_list(const struct timeline *timeline);

/*
 * Percentiles of the recoveries of one round or of many, in ms:
 *
 *   phases    {"detect", "elect", "restore", "resume", "total": spread}
 *   by_fault  {FAULT: spread of total_ms}, by_group {GROUP: the same}
 *   failover  {GROUP: spread of failover_ms}
 *
 * A spread is {count, p50, p90, p99, max}; without values the spread is absent. A new reference;
 * NULL: out of memory.
 */
json_t *recovery_percentiles(const json_t *recoveries);

/* Sorts `values`. The spread by nearest rank; NULL: no values, or out of memory. */
json_t *recovery_spread(double *values, size_t count);

/* {"steps", "seconds", "steps_per_s", "baseline_steps_per_s", "goodput", "availability"} of the
 * time from the first step to the last; null: not known. Goodput is relative to the baseline run.
 * Availability is the share of the time in which workers were allowed to train. */
json_t *recovery_goodput(const struct timeline *timeline);

#endif
