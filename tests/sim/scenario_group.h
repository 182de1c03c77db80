/*
 * tests/sim/scenario_group.h: scenarios in which groups of workers train (section G of
 * docs/protocol.md): two groups, of two or three members (tests/sim/scenarios.h).
 */
#ifndef SIM_SCENARIO_GROUP_H
#define SIM_SCENARIO_GROUP_H

#include "tests/sim/cluster.h"

/* The job has groups. */
void scenario_groups_with_ps(struct sim_setup *setup, struct random *random);
void scenario_groups_without_ps(struct sim_setup *setup, struct random *random);
void scenario_group(struct sim_setup *setup, struct random *random);
void scenario_group_kills(struct sim_setup *setup, struct random *random);
void scenario_group_lost(struct sim_setup *setup, struct random *random);
/* Without ps. */
void scenario_group_mirror(struct sim_setup *setup, struct random *random);
void scenario_group_mirror_survivor(struct sim_setup *setup, struct random *random);
void scenario_group_mirror_lost(struct sim_setup *setup, struct random *random);
/* The slices of a group that lacks a member were computed by the other group. */
const char *group_is_left_behind(const struct sim_cluster *cluster);

#endif
