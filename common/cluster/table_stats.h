/*
 * common/cluster/table_stats.h: the statistics of a table on one ps, and the body of a frame
 * TABLES, which has those of each table of the model in order: records of TABLE_STATS_BYTES without
 * gaps, numbers little-endian. Only statistics: nothing in training depends on it.
 *
 * Pure: no I/O, no allocation. Threads: any.
 */
#ifndef COMMON_CLUSTER_TABLE_STATS_H
#define COMMON_CLUSTER_TABLE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/variables.h"

enum {
    TABLE_STATS_BYTES = VARIABLE_NAME_MAX + 6 * 8,
    TABLE_STATS_BODY_MAX = ROW_TABLES_MAX * TABLE_STATS_BYTES,
};

struct table_stats {
    char name[VARIABLE_NAME_MAX];
    uint64_t rows;  /* That were trained. */
    uint64_t bytes; /* Allocated for them. */
    /* Since the process of the ps has started: */
    uint64_t lookups; /* Rows that were looked up. */
    uint64_t updates; /* Rows that were applied. */
    uint64_t hottest; /* Lookups in the most used of its buckets of keys (ps/row_hits.h). */
    uint64_t hot;     /* Lookups in the most used 1 % of these buckets. */
};

/* The ps, in the members `count`, `first` and `sequence` of the header of the frame. */
struct table_source {
    uint32_t count;   /* Tables. */
    uint32_t buckets; /* The number of its buckets of rows (row_owner.h). */
    uint64_t updates; /* That it has made since its process has started. */
};

/* Write the record to out[0..TABLE_STATS_BYTES). */
void table_stats_encode(const struct table_stats *stats, uint8_t out[static TABLE_STATS_BYTES]);

/* Read `count` records. False: the size does not fit, there are more than ROW_TABLES_MAX, or one
 * has an invalid name or more lookups of some buckets than of all; `out` is then undefined. */
bool table_stats_decode(const void *body, size_t size, uint32_t count, struct table_stats *out);

#endif
