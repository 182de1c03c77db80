/*
 * tests/sim/scenarios.h: combinations of faults that random seeds seldom draw, in a cluster that is
 * otherwise undisturbed. A seed still determines the sizes, the delays and the times.
 */
#ifndef SIM_SCENARIOS_H
#define SIM_SCENARIOS_H

#include "tests/sim/cluster.h"

struct scenario {
    const char *name;
    /* Adds the faults to a setup without any. */
    void (*draw)(struct sim_setup *setup, struct random *random);
    /* After a run that broke no rule of the checker: NULL, or what is wrong. */
    const char *(*judge)(const struct sim_cluster *cluster);
};

enum { SCENARIOS = 59 };
extern const struct scenario scenarios[SCENARIOS];

/* Draws the setup of a scenario from a seed. */
void scenario_draw(const struct scenario *scenario, struct sim_setup *setup, uint64_t seed);

#endif
