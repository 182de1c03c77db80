/*
 * mirror/ranges.h: the ranges of the vector of parameters in a run without ps, their owners, and
 * the relays of a host. A range is placement_range() (common/cluster/placement.h) for as many parts
 * as there are ranges.
 *
 * The owners depend only on /assignment: workers that own slices have the values of the generation,
 * so they can own ranges as well. Range i belongs to worker i if this worker owns slices; otherwise
 * the owners of slices take turns. Therefore the death of a worker moves only its own range.
 *
 * A relay (M14) is the worker to which the other workers of its host push the gradients of a range
 * whose owner is on another host.
 *
 * Pure. Threads: any.
 */
#ifndef MIRROR_RANGES_H
#define MIRROR_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/task.h"
#include "common/cluster/znodes.h"

enum {
    RANGES_MAX = PS_MAX,
    RANGE_WITHOUT_OWNER = UINT16_MAX,
    RANGE_WITHOUT_RELAY = UINT16_MAX,
};

/* The number of ranges for these numbers of workers and parameters: one for each worker, at most
 * RANGES_MAX, and no range is empty. */
uint32_t ranges_count(uint32_t workers, uint64_t parameters);

/* The owners of the ranges 0 to ranges - 1, to out[]; RANGE_WITHOUT_OWNER for all if no worker owns
 * slices. Owners of slices that are not below `workers` do not count. */
void ranges_owners(const struct assignment *assignment, uint32_t workers, uint32_t ranges,
                   uint16_t out[static RANGES_MAX]);

/* The relays of one host for the ranges 0 to ranges - 1, to out[]: the workers of the host that own
 * slices take turns. `owners` are those of ranges_owners(), and is_near[] has the workers of the
 * host. RANGE_WITHOUT_RELAY if the owner is one of them or unknown, and for all ranges if fewer
 * than two of the workers own slices. */
void ranges_relays(const struct assignment *assignment, uint32_t workers, uint32_t ranges,
                   const uint16_t owners[static RANGES_MAX], const bool is_near[static WORKERS_MAX],
                   uint16_t out[static RANGES_MAX]);

#endif
