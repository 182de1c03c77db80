/* coordinator/assign.h: which worker owns which slices of each step's batch. Pure. Slices move as
 * seldom as possible: the results of training do not depend on their owners, only its speed does.
 */
#ifndef COORDINATOR_ASSIGN_H
#define COORDINATOR_ASSIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/znodes.h"

/*
 * Assign `slices` slices to the workers that are `ready`. If none is, nothing changes. If a worker
 * has joined that owns none, all workers get contiguous parts in the order of their indices, equal
 * but for one slice. If workers have only left, their slices go to those that own the fewest.
 */
void assign_slices(const struct assignment *before, uint32_t slices,
                   const bool ready[static WORKERS_MAX], struct assignment *out);

/* Whether both have the same generation and the same owner of each slice. */
bool assign_equal(const struct assignment *a, const struct assignment *b);

#endif
