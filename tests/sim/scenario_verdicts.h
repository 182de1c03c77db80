/*
 * tests/sim/scenario_verdicts.h: what a scenario demands of its run beyond the rules of the
 * checker: NULL, or what is wrong. One function for each demand; several scenarios share some.
 */
#ifndef SIM_SCENARIO_VERDICTS_H
#define SIM_SCENARIO_VERDICTS_H

#include "tests/sim/cluster.h"

enum { SLOW_WORKER = 1, SLOW_SLICES = 8 };

const char *spec_exists(const struct sim_cluster *cluster);
const char *no_step_is_lost(const struct sim_cluster *cluster);
const char *ends_in_good_order(const struct sim_cluster *cluster);
const char *loads_again(const struct sim_cluster *cluster);
const char *keeps_the_rules(const struct sim_cluster *cluster);
const char *loses_no_checkpoint(const struct sim_cluster *cluster);
const char *is_resized(const struct sim_cluster *cluster);
const char *is_scaled(const struct sim_cluster *cluster);
const char *rows_are_sent(const struct sim_cluster *cluster);
const char *nothing_is_loaded_again(const struct sim_cluster *cluster);
const char *rows_are_kept(const struct sim_cluster *cluster);
const char *kept_rows_are_loaded(const struct sim_cluster *cluster);
const char *no_checkpoint_is_skipped(const struct sim_cluster *cluster);
const char *stops_early(const struct sim_cluster *cluster);
const char *is_stopped(const struct sim_cluster *cluster);
const char *is_stopped_in_order(const struct sim_cluster *cluster);
const char *checkpoints_are_evaluated(const struct sim_cluster *cluster);
const char *slow_worker_owns_few(const struct sim_cluster *cluster);
const char *worker_is_refused(const struct sim_cluster *cluster);

#endif
