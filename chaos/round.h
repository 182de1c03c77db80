/*
 * chaos/round.h: one run of a cluster under a schedule of faults, from its start to the verdict.
 * The baseline run is a round with an empty schedule.
 *
 * Threads: the main thread. Blocking: until the run has ended.
 */
#ifndef CHAOS_ROUND_H
#define CHAOS_ROUND_H

#include <jansson.h>

#include "chaos/campaign.h"
#include "chaos/cluster/lab.h"

struct round_config {
    const struct campaign_config *campaign;
    const struct job *job;
    const char *job_file, *dir; /* `dir`, the round's own folder, is created. */
    const char *networks;       /* NULL: none. */
    const char *shim;           /* NULL: none. */
    struct lab *lab;            /* NULL: none. */
    const struct probe *probe;
    const struct schedule *schedule;
    uint32_t number;
    const json_t *baseline; /* NULL: this is the baseline run. */
};

/* Run a round; TN_OK also when a check failed. `*baseline_out`, if not NULL, becomes what later
 * rounds are compared with: a new reference. TN_EAGAIN: the user wants to stop. */
MUST_CHECK enum tn_status round_run(const struct round_config *config, struct outcome *outcome,
                                    json_t **baseline_out, struct error *error);

#endif
