/*
 * common/job/variable_order.h: the order of the variables in the flat vector of a checkpoint.
 *
 * The order follows from the strategy, the number of ps and the placement of the job that wrote the
 * checkpoint (common/job/variable_placement.h), all of which `--resume` may change. A manifest has
 * the hash of the variables in its order. So the order is found by trying the placements that the
 * same model can have with as many shards.
 *
 * Threads: no state.
 */
#ifndef COMMON_JOB_VARIABLE_ORDER_H
#define COMMON_JOB_VARIABLE_ORDER_H

#include "common/cluster/manifest.h"
#include "common/cluster/variable_moves.h"
#include "common/job/job.h"

/*
 * Where the parameters of `manifest` lie in the flat vector of `variables`, the placed table of
 * `job`. `*count` of them; 0: at the same places. `out` NULL: only whether they are known.
 *
 *   TN_EINVAL  it holds other variables, or they have an order that no placement of the job gives
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status variable_order_of(const struct manifest *manifest, const struct job *job,
                                            const struct variable_table *variables,
                                            struct variable_move *out, uint32_t *count,
                                            struct error *error);

#endif
