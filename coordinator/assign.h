/* coordinator/assign.h: which worker owns which slices of each step's batch. Pure. Slices are moved
 * as seldom as possible: results do not depend on their owners, only time does. */
#ifndef COORDINATOR_ASSIGN_H
#define COORDINATOR_ASSIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/znodes.h"

/*
 * Give the `slices` slices to the workers that are `ready`. If none is: everything stays as it was
 * before. If one came that owns nothing: contiguous parts in the order of the workers, equal but
 * for one slice. If some only went: what they owned goes to those that own least.
 */
void assign_slices(const struct assignment *before, uint32_t slices,
                   const bool ready[static WORKERS_MAX], struct assignment *out);

bool assign_equal(const struct assignment *a, const struct assignment *b);

#endif
