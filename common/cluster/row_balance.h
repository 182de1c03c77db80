/*
 * common/cluster/row_balance.h: borders between the buckets of rows (common/cluster/row_owner.h)
 * that give each ps about the same load, by the load of each bucket. The result is a function of
 * the loads alone.
 *
 * Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_ROW_BALANCE_H
#define COMMON_CLUSTER_ROW_BALANCE_H

#include <stdint.h>

#include "common/cluster/row_owner.h"

/* The sum of all loads is below this. */
#define ROW_LOADS_MAX (UINT64_MAX / PS_MAX)

/* The borders for `ps_count` ps by which the largest load of a ps is as small as contiguous ranges
 * allow. Among these, each border is as near to equal loads as possible. If all buckets have the
 * same load, which may be 0, the ranges are equal. Equal ranges are returned as no borders. */
struct row_borders row_balance(const uint64_t loads[static ROW_BUCKETS], uint32_t ps_count);

/* The largest load of a ps divided by the mean over all ps: 1 if all are the same. NAN: all loads
 * are 0. */
double row_imbalance(const uint64_t loads[static ROW_BUCKETS], const struct row_borders *borders,
                     uint32_t ps_count);

#endif
