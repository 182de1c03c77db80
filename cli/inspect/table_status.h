/*
 * cli/inspect/table_status.h: what `tanist status` shows of the tables of a running cluster.
 * Nothing for a model without tables.
 *
 * Threads: the main thread. Nothing blocks.
 */
#ifndef CLI_INSPECT_TABLE_STATUS_H
#define CLI_INSPECT_TABLE_STATUS_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/observe/table_totals.h"
#include "common/cluster/row_owner.h"

/* Set `tables`, of table_totals_json(), and `rows`: {imbalance, buckets: those of each ps}. */
void table_status_add(json_t *root, const struct table_totals *totals,
                      const struct row_borders *borders);

/* A line with the sums, the largest tables, and the share of each ps. False: out of memory, or
 * stdout could not be written. */
bool table_status_print(const struct table_totals *totals, const struct row_borders *borders);

#endif
