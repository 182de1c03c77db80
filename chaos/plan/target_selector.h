/*
 * chaos/plan/target_selector.h: the words by which a plan says whom a fault strikes, and the one
 * they come to. Pure.
 *
 *   coordinator, ps, worker, any, zookeeper   one of them, drawn from the seed
 *   ps:1, coordinator:0, zookeeper:2          that one
 *   chief, zookeeper-leader, zookeeper-follower, zookeeper-majority, zookeeper-all, agent,
 *   everything, cluster                       whoever it is at the moment (chaos/plan/fault.h)
 */
#ifndef CHAOS_PLAN_TARGET_SELECTOR_H
#define CHAOS_PLAN_TARGET_SELECTOR_H

#include "chaos/plan/plan.h"
#include "common/base/random.h"

/* What is wrong with striking `whom` by `fault`, in words with a remedy, in `text`; false: nothing.
 */
bool whom_is_wrong(const char *whom, enum fault fault, char *text, size_t size);

/* Whether some of them pass a failpoint that is passed by `who` (common/faults/failpoint.h). */
bool whom_passes(const char *whom, const char *who);

/* The one that `whom` comes to in a cluster of that shape. TN_EINVAL: there is none. */
MUST_CHECK enum tn_status whom_draw(const char *whom, const struct cluster_shape *shape,
                                    struct random *random, char out[static WHOM_MAX],
                                    struct error *error);

#endif
