/*
 * chaos/attack.h: faults for a cluster that is already running, on hosts that the harness cannot
 * reach except through ZooKeeper (chaos/cluster/remote.h). The cluster's job continues afterwards,
 * so there is no baseline run to compare it with. DIR/round-0001/history.jsonl and the reports have
 * the format of a campaign.
 *
 * Threads: the main thread. Blocking: until the cluster has recovered from the last fault.
 */
#ifndef CHAOS_ATTACK_H
#define CHAOS_ATTACK_H

#include <jansson.h>

#include "chaos/cluster/remote.h"
#include "chaos/outcome.h"
#include "chaos/plan/plan.h"
#include "common/job/job.h"

struct attack_config {
    struct remote *remote; /* Borrowed. */
    const struct job *job; /* The cluster's. */
    const struct plan *plan;
    uint64_t seed;
    uint32_t seconds; /* Inject no fault later than this; 0: inject all. */
    const char *dir;  /* Is created; TN_EEXIST if it holds a history. */
    uint64_t step;    /* That training has reached: the plan's progress is that of the rest. */
    void (*log)(void *ctx, const char *text);
    void *ctx;
    const volatile int *stop; /* Not 0: a signal asks to stop. */
};

/* TN_OK also when a check failed. TN_EUNHEALTHY: the cluster does not train; others: the harness
 * failed. */
MUST_CHECK enum tn_status attack_run(const struct attack_config *config, struct outcome *outcome,
                                     struct error *error);

/*
 * The verdict on a history, without the checks that need logs or disks: {"ok", "checks"}, with the
 * checks faults (some were injected), recovery (as in chaos/judge/verdict.h), epochs (each chief's
 * is higher than all before), generations (they never decrease), alive (at the end the cluster
 * trains, or is done). A new reference. NULL: out of memory. Pure.
 */
json_t *attack_judge(const json_t *history, uint64_t within_ms);

#endif
