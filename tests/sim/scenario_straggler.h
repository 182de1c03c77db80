/* tests/sim/scenario_straggler.h: the scenarios `straggler` and `mirror-straggler` and their
 * verdict (tests/sim/scenarios.h).
 */
#ifndef SIM_SCENARIO_STRAGGLER_H
#define SIM_SCENARIO_STRAGGLER_H

#include "tests/sim/cluster.h"

enum { SCENARIO_STRAGGLER_SLICES = 8 };

void scenario_straggler(struct sim_setup *setup, struct random *random);
void scenario_mirror_straggler(struct sim_setup *setup, struct random *random);
const char *straggler_is_left_behind(const struct sim_cluster *cluster);

#endif
