/*
 * common/cluster/placement.h: the part of the parameters that each ps owns.
 *
 * The parameters are one flat vector of floats in the order of the variable table. It is
 * divided into contiguous ranges whose sizes differ by at most one block of PLACEMENT_BLOCK floats;
 * every shard starts on a cache line. Nothing is stored: all nodes compute the same ranges.
 *
 * Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_PLACEMENT_H
#define COMMON_CLUSTER_PLACEMENT_H

#include <stdint.h>

enum { PLACEMENT_BLOCK = 16 }; /* Floats: 64 bytes. */

/* Parameters [first, first+count). */
struct placement {
    uint64_t first, count;
};

/* The largest number of ps that own part of `parameters` floats; at least 1. `cluster.ps` of a user
 * is checked by variable_table_check_ps() of common/cluster/variables.h.
 */
uint64_t placement_ps_max(uint64_t parameters);

/* The range of ps `index` of `ps_count`. Empty for some if ps_count > placement_ps_max(). */
struct placement placement_range(uint64_t parameters, uint32_t ps_count, uint32_t index);

#endif
