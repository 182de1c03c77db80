/*
 * chaos/round.h: one run of a cluster under a schedule of faults, from its start to the verdict. A
 * calm run is one with an empty schedule.
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
    const char *job_file, *dir; /* The round's own folder: it is made. */
    const char *networks;       /* NULL: none. */
    const char *shim;           /* NULL: none. */
    struct lab *lab;            /* NULL: none. */
    const struct probe *probe;
    const struct schedule *schedule;
    uint32_t number;
    const json_t *calm; /* NULL: this is the calm run, and its own measure. */
};

/* `*calm_out`, if not NULL, becomes what later rounds are compared with: a new reference. */
MUST_CHECK enum tn_status round_run(const struct round_config *config,
                                    struct round_outcome *outcome, json_t **calm_out,
                                    struct error *error);

#endif
