/*
 * chaos/plan/target_selector.h: the names by which plans select the targets of a fault (JSON key
 * "selector"). Pure.
 *
 *   coordinator, ps, worker, evaluator, any, zookeeper
 *                                            one of them, drawn from the seed; where no ps are,
 *                                            workers keep the parameters, so ps selects a worker
 *   gpu                                      one of the workers and ps that compute on GPUs
 *   ps:1, coordinator:0, zookeeper:2         that one
 *   chief, zookeeper-leader, zookeeper-follower (one of them), zookeeper-majority, zookeeper-all,
 *   agent, everything (all processes of the run), cluster
 *                                            resolved when the fault begins
 */
#ifndef CHAOS_PLAN_TARGET_SELECTOR_H
#define CHAOS_PLAN_TARGET_SELECTOR_H

#include "chaos/plan/plan.h"
#include "common/base/random.h"

/* Whether `fault` can have the targets of `selector`; if not, `why` is the reason, with a
 * remedy. */
bool selector_fits_fault(const char *selector, enum fault fault, char *why, size_t size);

/* Whether some selected nodes pass a failpoint that `who` passes (common/faults/failpoint.h). */
bool selector_passes(const char *selector, const char *who);

/* Whether `selector` is the name of a role whose targets, in a job with `ps` ps, have the role
 * `role`: that of workers for "ps" where no ps are. */
bool selector_has_role(const char *selector, uint32_t ps, enum role role);

/* Whether no node that is selected by "gpu", "any", or the role or name of a worker or ps computes
 * on a GPU. */
bool selector_lacks_gpu(const char *selector, const struct cluster_shape *shape);

/* Draw the target in a cluster of that shape. A selector that is resolved later stays as it is.
 * TN_EINVAL: the cluster has no such target. */
MUST_CHECK enum tn_status selector_draw(const char *selector, const struct cluster_shape *shape,
                                        struct random *random, char out[static SELECTOR_MAX],
                                        struct error *error);

#endif
