/* tests/sim/scenario_draw.h: sizes and helpers of scenarios (tests/sim/scenarios.h). */
#ifndef SIM_SCENARIO_DRAW_H
#define SIM_SCENARIO_DRAW_H

#include <assert.h>

#include "tests/sim/cluster.h"

enum { SCENARIO_COORDINATORS = 2, SCENARIO_STEPS = 250 };

/* A number from `low` to `high`, both included. */
static inline uint64_t scenario_between(struct random *random, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + random_below(random, high - low + 1);
}

/* Add a fault of a task at a time. */
static inline struct fault *scenario_add(struct sim_setup *setup, enum fault_kind kind,
                                         uint64_t at_ms, uint32_t task)
{
    assert(setup->fault_count < FAULTS_MAX);
    struct fault *fault = &setup->faults[setup->fault_count++];
    *fault = (struct fault){.kind = kind, .at_ms = at_ms, .target = task};
    return fault;
}

/* scenarios.c: the model has tables. */
void scenario_set_tables(struct sim_setup *setup, struct random *random);

#endif
