/* tests/sim/scenario_commands.h: scenarios of commands of operators while hosts are drained. */
#ifndef SIM_SCENARIO_COMMANDS_H
#define SIM_SCENARIO_COMMANDS_H

#include "tests/sim/cluster.h"

void scenario_mirror_drain_paused(struct sim_setup *setup, struct random *random);
void scenario_group_mirror_drain(struct sim_setup *setup, struct random *random);
void scenario_commands(struct sim_setup *setup, struct random *random);

/* Whether a request that operators made long ago is still there. */
bool any_request_waits(const struct sim_cluster *cluster);
/* Verdict: each drain ends in good order, no step is redone, and each request was answered. */
const char *commands_are_carried_out(const struct sim_cluster *cluster);

#endif
