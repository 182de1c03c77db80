/*
 * chaos/plan/shrink.h: the fewest faults of a schedule that still make a round fail: delta
 * debugging (ddmin: Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
 * It says which subset to try next and is told what came of it; the caller runs, as often as he
 * likes for one answer, since real runs are not deterministic. Pure.
 *
 *     shrink_init(&shrink, schedule.count);
 *     while (shrink_next(&shrink, subset)) shrink_result(&shrink, fails(subset));
 *
 * At the end `kept` is 1-minimal: by the answers given, a round without any single one of its
 * faults did not fail. The first try is without any fault: when that fails, none is to blame.
 */
#ifndef CHAOS_PLAN_SHRINK_H
#define CHAOS_PLAN_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

#include "chaos/plan/fault.h"

enum shrink_phase {
    SHRINK_NONE, /* Trying without any fault. */
    SHRINK_PARTS,
    SHRINK_RESTS, /* All but one part. */
    SHRINK_DONE
};

struct shrink {
    enum shrink_phase phase;
    uint32_t count;                            /* Of the schedule. */
    uint32_t kept_count, kept[INJECTIONS_MAX]; /* Indices of the smallest set known to fail. */
    uint32_t parts, part;                      /* `kept` is cut into so many; the one tried now. */
    uint32_t tries;                            /* Answers so far. */
};

/* Of `count` faults, which make a round fail together. count <= INJECTIONS_MAX. */
void shrink_init(struct shrink *shrink, uint32_t count);
/* `subset[i]`: the next try has fault i, for i below `count`. False: done; `subset` is `kept`. */
bool shrink_next(const struct shrink *shrink, bool *subset);
/* What came of the try that shrink_next() said. Not after it was done. */
void shrink_result(struct shrink *shrink, bool failed);

#endif
