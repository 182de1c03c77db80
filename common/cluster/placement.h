/*
 * common/cluster/placement.h: which part of the parameters each ps owns.
 *
 * The parameters are one flat vector of floats in the order of the variable table. It is cut into
 * contiguous ranges of equal size but for one block of PLACEMENT_BLOCK floats, so that every shard
 * starts on a cache line. Nothing is stored: everybody computes the same ranges.
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

/* The most ps that `parameters` floats can be spread over with none empty: at least 1. Who reads
 * `cluster.ps` from a user checks it with variable_table_check_ps() of common/cluster/variables.h.
 */
uint64_t placement_ps_max(uint64_t parameters);

/* What ps `index` of `ps_count` owns. Empty for some if ps_count > placement_ps_max(). */
struct placement placement_range(uint64_t parameters, uint32_t ps_count, uint32_t index);

#endif
