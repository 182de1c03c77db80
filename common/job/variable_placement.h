/*
 * common/job/variable_placement.h: which ps owns which variables (`placement` in the job file).
 *
 * "ranges" cuts the flat vector into contiguous parts of equal size, wherever variables begin. The
 * other strategies keep variables whole: variables that are pinned, by `placement.variables` or by
 * their device, go to their ps; the others follow in their order, to each ps in turn
 * ("round_robin"), or from the largest to the smallest, each to the ps that has the fewest bytes
 * ("greedy"). Every node computes the same placement, so nothing is stored, and digests do not
 * depend on it.
 *
 * Threads: no state.
 */
#ifndef COMMON_JOB_VARIABLE_PLACEMENT_H
#define COMMON_JOB_VARIABLE_PLACEMENT_H

#include "common/cluster/variables.h"
#include "common/job/job.h"

/* Order the flat vector of an unplaced table by ps. Nothing changes with "ranges".
 *
 *   TN_EINVAL  a pattern matches no variable, or a variable is pinned to a ps that does not exist,
 *              or by a strategy that cuts variables; a ps would own nothing, or more than one frame
 *              carries
 */
MUST_CHECK enum tn_status variables_place(struct variable_table *table, const struct job *job,
                                          struct error *error);

#endif
