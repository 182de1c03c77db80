/*
 * ps/row_hits.h: statistics of the use of a table's rows on one ps: the numbers of rows that were
 * looked up and applied, and the distribution of lookups over ROW_HITS_BUCKETS buckets of keys, by
 * a hash. A worker looks up a key once for each node of slices (W13), so a key that many examples
 * have counts once for all of them.
 *
 * These are only counters: training does not depend on them, and checkpoints do not contain them.
 * Pure. Threads: the owner's.
 */
#ifndef PS_ROW_HITS_H
#define PS_ROW_HITS_H

#include <stdint.h>

enum {
    ROW_HITS_BUCKETS = 1024, /* A power of two. */
    ROW_HITS_MOST = 10,      /* 1 % of them. */
};

/* Zeroed: nothing was counted. */
struct row_hits {
    uint64_t lookups, updates;
    uint64_t buckets[ROW_HITS_BUCKETS];
};

/* `count` rows were looked up. */
void row_hits_count(struct row_hits *hits, const uint64_t *keys, uint64_t count);

/* The lookups of the most used bucket, and of the ROW_HITS_MOST most used ones. */
void row_hits_most(const struct row_hits *hits, uint64_t *hottest, uint64_t *hot);

#endif
