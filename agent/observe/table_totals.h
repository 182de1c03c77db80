/*
 * agent/observe/table_totals.h: the tables of a running cluster, from the statistics that each ps
 * has sent: of each table, and of each ps.
 *
 * Pure but for memory and the poller's lock. Threads: the owner's.
 */
#ifndef AGENT_OBSERVE_TABLE_TOTALS_H
#define AGENT_OBSERVE_TABLE_TOTALS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/observe/step_poller.h"

/* All zero: nothing is known. */
struct table_totals {
    uint32_t count;               /* Tables; 0: the model has none, or no ps has answered. */
    uint32_t ps_count;            /* ps of the job. */
    uint32_t answered;            /* The number of these whose rows are counted. */
    struct table_stats *tables;   /* [count] The sums over the ps, in the model's order. Owned. */
    struct table_stats *parts;    /* [count][ps_count] Zeroed where a ps has not answered. Owned. */
    bool *known;                  /* [ps_count] It has answered. Owned. */
    struct table_source *sources; /* [ps_count] Zeroed where a ps has not answered. Owned. */
};

/* Replace the totals by the last answers of all `ps_count` ps that are of `generation`. If memory
 * runs out, `count` becomes 0. */
void table_totals_read(struct table_totals *totals, struct step_poller *poller, uint32_t ps_count,
                       uint64_t generation);

/* The same for statistics that have arrived: `parts` is [ps_count][ROW_TABLES_MAX], `sources`
 * [ps_count], of which `count` is 0 for a ps that is unknown. Answers of other tables than the
 * first are left out. */
void table_totals_set(struct table_totals *totals, uint32_t ps_count,
                      const struct table_stats (*parts)[ROW_TABLES_MAX],
                      const struct table_source *sources);

void table_totals_free(struct table_totals *totals); /* A zeroed one is allowed. */

/* The statistics of ps `ps` over all tables; the name is empty, and `hot` and `hottest` are 0. */
struct table_stats table_totals_of_ps(const struct table_totals *totals, uint32_t ps);

/* The share of lookups that the most used 1 % of the buckets take. NAN: there were none. */
double table_hot_share(const struct table_stats *stats);

/* The lookups of ps `ps` in an update, over their mean on the ps that have made one: of table
 * `table`, or of all tables if that is `count`. Ps that have started at other times are thus
 * compared. NAN: there were none, or this ps has made no update. */
double table_load(const struct table_totals *totals, uint32_t table, uint32_t ps);

/* The largest load of a ps. 1: they are even. NAN: no ps has one. */
double table_imbalance(const struct table_totals *totals, uint32_t table);

/* The tables that take most memory, in that order, to `out`. Returns their number, at most
 * `most`. */
uint32_t table_totals_largest(const struct table_totals *totals, uint32_t most, uint32_t *out);

/* The sums over all tables: as table_totals_of_ps(). */
struct table_stats table_totals_all(const struct table_totals *totals);

/* [{name, rows, bytes, lookups, updates, hot_share, hottest_share, imbalance}]; with `by_ps` also
 * `ps`: of each one {rows, bytes, lookups, updates}, or null where it is unknown. NULL: out of
 * memory. */
json_t *table_totals_json(const struct table_totals *totals, bool by_ps);

#endif
