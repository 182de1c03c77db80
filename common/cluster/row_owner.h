/*
 * common/cluster/row_owner.h: which ps has which rows of tables (rule A12). A row belongs to one of
 * ROW_BUCKETS buckets, by a hash of its table and key; each ps has a contiguous range of buckets,
 * equal except for one. Every node computes the same; nothing is stored.
 *
 * Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_ROW_OWNER_H
#define COMMON_CLUSTER_ROW_OWNER_H

#include <stdint.h>

enum { ROW_BUCKETS = 4096 };

/* The bucket of the row `key` of table number `table`. */
uint32_t row_bucket(uint32_t table, uint64_t key);

/* The ps, of `ps_count`, which is at most ROW_BUCKETS, that has this row. */
uint32_t row_owner(uint32_t table, uint64_t key, uint32_t ps_count);

#endif
