/*
 * tests/sim/scenario_membership.h: scenarios in which a run continues with other numbers of ps or
 * with another strategy, its number of workers changes, or it has no ps (tests/sim/scenarios.h).
 */
#ifndef SIM_SCENARIO_MEMBERSHIP_H
#define SIM_SCENARIO_MEMBERSHIP_H

#include "tests/sim/cluster.h"

/* The job has no ps, and two to four workers. */
void scenario_without_ps(struct sim_setup *setup, struct random *random);
void scenario_resize(struct sim_setup *setup, struct random *random);
void scenario_move_rows(struct sim_setup *setup, struct random *random);
void scenario_switch_strategy(struct sim_setup *setup, struct random *random);
void scenario_mirror(struct sim_setup *setup, struct random *random);
void scenario_mirror_survivor(struct sim_setup *setup, struct random *random);
void scenario_sharded(struct sim_setup *setup, struct random *random);
void scenario_mirror_keep_none(struct sim_setup *setup, struct random *random);
void scenario_mirror_stop(struct sim_setup *setup, struct random *random);
void scenario_mirror_drain_stop(struct sim_setup *setup, struct random *random);
void scenario_mirror_drain_alone(struct sim_setup *setup, struct random *random);
void scenario_scale(struct sim_setup *setup, struct random *random);
void scenario_scale_ps(struct sim_setup *setup, struct random *random);
void scenario_scale_to_an_empty_worker(struct sim_setup *setup, struct random *random);

#endif
