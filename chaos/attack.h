/*
 * chaos/attack.h: faults for a cluster that runs already, on hosts where we have no power: only
 * what goes by way of its ZooKeeper (chaos/cluster/remote.h). Its job goes on; nothing is compared
 * with a calm run. DIR/round-0001/history.jsonl and the reports are those of a campaign.
 *
 * Threads: the main thread. Blocking: until the cluster is over the last fault.
 */
#ifndef CHAOS_ATTACK_H
#define CHAOS_ATTACK_H

#include <jansson.h>

#include "chaos/cluster/remote.h"
#include "chaos/plan/plan.h"
#include "common/cluster/job.h"

struct attack_config {
    struct remote *remote; /* Borrowed. */
    const struct job *job; /* As the cluster was made for. */
    const struct plan *plan;
    uint64_t seed;
    uint32_t seconds; /* No fault begins later; 0: until all are done. */
    const char *dir;  /* Is made; TN_EEXIST if it holds a history. */
    uint64_t step;    /* It has reached already: shares of progress are shares of the rest. */
    void (*say)(void *ctx, const char *text);
    void *ctx;
    const volatile int *stop; /* Becomes not 0 when the user wants the end. */
};

struct attack_outcome {
    bool kept, stopped;
    uint32_t done, skipped;
    double seconds;
    char broken[400]; /* The checks that failed, in words. */
};

/* TN_OK also when a check failed. TN_EUNHEALTHY: the cluster does not run; others: the harness
 * could not do it. */
MUST_CHECK enum tn_status attack_run(const struct attack_config *config,
                                     struct attack_outcome *outcome, struct error *error);

/*
 * What can be judged from outside, out of a history: {"ok", "checks"}, as chaos/judge/verdict.h,
 * with the checks: faults (some were done), recovery (as there), epochs (each chief's is higher
 * than all before), generations (none comes back), alive (at the end it trains, or is done). NULL:
 * out of memory. Pure.
 */
json_t *attack_judge(const json_t *history, uint64_t within_ms);

#endif
