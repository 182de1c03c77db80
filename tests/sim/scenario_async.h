/* tests/sim/scenario_async.h: the scenarios in async mode (tests/sim/scenarios.h). */
#ifndef SIM_SCENARIO_ASYNC_H
#define SIM_SCENARIO_ASYNC_H

#include "tests/sim/cluster.h"

void scenario_stop_async(struct sim_setup *setup, struct random *random);
void scenario_async_tables(struct sim_setup *setup, struct random *random);
void scenario_async_counts(struct sim_setup *setup, struct random *random);
void scenario_async_drain(struct sim_setup *setup, struct random *random);

#endif
