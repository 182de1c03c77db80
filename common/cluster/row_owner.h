/*
 * common/cluster/row_owner.h: which ps has which rows of tables (rule A12). A row belongs to one of
 * ROW_BUCKETS buckets, by a hash of its table and key; each ps has a contiguous range of buckets.
 * The ranges are equal except for one bucket, or have the borders that the job names. Every node
 * computes the same from the job.
 *
 * Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_ROW_OWNER_H
#define COMMON_CLUSTER_ROW_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/random.h"
#include "common/cluster/task.h"

enum { ROW_BUCKETS = 4096, ROW_BORDERS_MAX = PS_MAX - 1 };

/* The borders of the ranges: the first bucket of ps 1, of ps 2, and so on. Zeroed: equal ranges. */
struct row_borders {
    uint32_t count; /* One less than the ps, or 0: equal ranges. */
    uint16_t buckets[ROW_BORDERS_MAX];
};

/* The rows of one ps of `ps_count`: those of the buckets [first, end). Zeroed: all rows. */
struct row_part {
    uint32_t ps, ps_count;
    uint32_t first, end;
};

/* The hash of a table's keys into buckets: made once for a table, it is cheap for each of its
 * keys. */
struct row_hash {
    struct random_stream stream;
};

/* The hash of table number `table`. */
struct row_hash row_hash_of(uint32_t table);

static inline uint32_t row_hash_bucket(struct row_hash hash, uint64_t key)
{
    return (uint32_t)(random_stream_at(hash.stream, key) % ROW_BUCKETS);
}

/* The bucket of the row `key` of table number `table`. */
uint32_t row_bucket(uint32_t table, uint64_t key);

/* Why the borders are not those of `ps_count` ps, or NULL: they are. Each ps has a bucket. */
const char *row_borders_fault(const struct row_borders *borders, uint32_t ps_count);
bool row_borders_equal(const struct row_borders *a, const struct row_borders *b);

/* The part of ps `ps` of `ps_count`, which is at most PS_MAX. The borders are valid. */
struct row_part row_part_of(const struct row_borders *borders, uint32_t ps_count, uint32_t ps);

/* Whether the rows of a bucket are of the part. */
static inline bool row_part_has_bucket(const struct row_part *part, uint32_t bucket)
{
    /* Below `first` the difference wraps around. */
    return part->ps_count == 0 || bucket - part->first < part->end - part->first;
}

/* Whether the row `key` of table number `table` is of the part. */
bool row_part_has(const struct row_part *part, uint32_t table, uint64_t key);

/* Whether a row can be of both parts: they have a bucket in common. */
bool row_part_meets(const struct row_part *part, const struct row_part *other);

/* Whether the files of one part continue those of the other: they are of the same ps of as many,
 * and have the same rows. */
bool row_part_equal(const struct row_part *part, const struct row_part *other);

#endif
