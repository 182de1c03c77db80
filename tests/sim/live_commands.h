/* tests/sim/live_commands.h: any commands of operators, in a job that changes while it runs. */
#ifndef SIM_LIVE_COMMANDS_H
#define SIM_LIVE_COMMANDS_H

#include "tests/sim/cluster.h"

/* Changes of the number of ps, of the strategy and of the number of workers, pauses, drains of the
 * host, chiefs that resign, kills, freezes and a stop, in any order and at any time. */
void live_commands(struct sim_setup *setup, struct random *random);

/* Verdict: the answers to changes are true, each request is answered, and no step is redone unless
 * a ps or the last worker is killed, or a node frozen. */
const char *live_commands_are_obeyed(const struct sim_cluster *cluster);

#endif
