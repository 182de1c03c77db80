/*
 * common/cluster/row_loads.h: how often the rows of each bucket (common/cluster/row_owner.h) of one
 * ps were looked up, and the body of a frame BUCKETS, which has the load of each of its buckets:
 * uint64, little-endian. Only statistics: nothing in training depends on it.
 *
 * Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_ROW_LOADS_H
#define COMMON_CLUSTER_ROW_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/row_owner.h"

enum { ROW_LOADS_BODY_MAX = ROW_BUCKETS * sizeof(uint64_t) };

/* The loads of buckets [first, first + count), since the process of the ps has started. */
struct row_loads {
    /* That it has made meanwhile; ps that count since other times differ in it. */
    uint64_t updates;
    uint32_t first, count;
    uint64_t loads[ROW_BUCKETS]; /* The rows of bucket `first` + i that were looked up. */
};

/* Write the loads of `count` buckets to `out`, which has room for them. */
void row_loads_encode(const uint64_t *loads, uint32_t count, uint8_t *out);

/* Read the body into `out`, whose other members are set. False: its size does not fit, or some of
 * its buckets do not exist; `out->loads` is then undefined. */
bool row_loads_decode(const void *body, size_t size, struct row_loads *out);

/*
 * Counters of ps begin when their processes start, so those of several ps are compared as if each
 * had made `most` updates, as many as the ps with most of them: the factor for a ps that has made
 * `updates`. 0: it has made none, and has no load yet.
 */
double row_loads_factor(uint64_t updates, uint64_t most);

/*
 * Add the loads of `part` to those of all buckets, as if it had made `updates` updates, which are
 * at least its own: row_loads_factor(). Sums stay below ROW_LOADS_MAX.
 */
void row_loads_add(const struct row_loads *part, uint64_t updates,
                   uint64_t sums[static ROW_BUCKETS]);

#endif
