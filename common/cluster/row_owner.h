/*
 * common/cluster/row_owner.h: which ps has which rows of tables (rule A12). A row belongs to one of
 * ROW_BUCKETS buckets, by a hash of its table and key; each ps has a contiguous range of buckets,
 * equal except for one. Every node computes the same; nothing is stored.
 *
 * Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_ROW_OWNER_H
#define COMMON_CLUSTER_ROW_OWNER_H

#include <stdbool.h>
#include <stdint.h>

enum { ROW_BUCKETS = 4096 };

/* The rows of one ps of `ps_count`; 0: all rows. */
struct row_part {
    uint32_t ps, ps_count;
};

/* The bucket of the row `key` of table number `table`. */
uint32_t row_bucket(uint32_t table, uint64_t key);

/* The ps, of `ps_count`, which is at most ROW_BUCKETS, that has this row. */
uint32_t row_owner(uint32_t table, uint64_t key, uint32_t ps_count);

/* Whether the row `key` of table number `table` is of the part. */
bool row_part_has(const struct row_part *part, uint32_t table, uint64_t key);

/* Whether a row can be of both parts: they have a bucket in common. */
bool row_part_meets(const struct row_part *part, const struct row_part *other);

#endif
