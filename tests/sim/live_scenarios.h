/*
 * tests/sim/live_scenarios.h: the scenarios of changes of the number of ps and of the strategy
 * while it runs, and their verdicts, as in scenarios.h.
 */
#ifndef SIM_LIVE_SCENARIOS_H
#define SIM_LIVE_SCENARIOS_H

#include "tests/sim/cluster.h"

/* One host, whose agent takes requests; with or without ps at first. */
void live_on_one_host(struct sim_setup *setup, struct random *random, bool has_ps);

/* Another number of ps, twice, while coordinators and workers die: is_changed(). */
void live_resize(struct sim_setup *setup, struct random *random);
/* With and without ps in turn; the same. */
void live_workers(struct sim_setup *setup, struct random *random);
void live_switch(struct sim_setup *setup, struct random *random);
/* Other borders between the rows of ps, twice, while coordinators and workers die: is_changed(). */
void live_balance(struct sim_setup *setup, struct random *random);
/* All workers but one die while all leave: is_changed(). */
void live_survivor(struct sim_setup *setup, struct random *random);
/* Operators scale and pause during the changes: requests_are_kept(). */
void live_requests(struct sim_setup *setup, struct random *random);
/* Several changes and requests to scale, one after the other and at the same time:
 * is_sequence(). */
void live_sequence(struct sim_setup *setup, struct random *random);
/* An operator stops the run during a change: is_stopped_live(). */
void live_stop(struct sim_setup *setup, struct random *random);
/* Any fault during the changes, and a third one: answers_are_true(). */
void live_faults(struct sim_setup *setup, struct random *random);

const char *is_changed(const struct sim_cluster *cluster);
const char *requests_are_kept(const struct sim_cluster *cluster);
const char *is_sequence(const struct sim_cluster *cluster);
const char *is_stopped_live(const struct sim_cluster *cluster);
const char *answers_are_true(const struct sim_cluster *cluster);

#endif
