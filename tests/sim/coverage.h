/*
 * tests/sim/coverage.h: how often each fault happened at each moment of a run. An empty cell is a
 * case that no seed has tested.
 */
#ifndef SIM_COVERAGE_H
#define SIM_COVERAGE_H

#include "common/cluster/run.h"
#include "tests/sim/faults.h"

enum coverage_moment {
    MOMENT_BEFORE,   /* No chief has been elected yet. */
    MOMENT_NO_CHIEF, /* The chief was lost; its successor is not elected yet. */
    MOMENT_FORMING,
    MOMENT_LOADING,
    MOMENT_RESTORING, /* Loading a checkpoint, not the initial values. */
    MOMENT_RUNNING,
    MOMENT_SAVING, /* Running, with a checkpoint ordered and reached by some ps. */
    MOMENT_PAUSED,
    MOMENT_STOPPING,
    MOMENTS
};

struct coverage {
    uint64_t cells[FAULT_KINDS][MOMENTS];
    uint64_t seeds, virtual_ms, handled, steps, values_checked, lent, grown, rows_checked;
    uint64_t elections, loads, restores, commits, kills;
};

void coverage_add(struct coverage *into, const struct coverage *from);
/* Prints the table on stdout. Returns the number of empty cells. */
uint32_t coverage_print(const struct coverage *coverage);

#endif
