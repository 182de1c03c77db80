/*
 * cli/plan/memory_plan_tables.h: the memory that the rows of tables will take on each ps, and those
 * that a worker has read, as far as job and data show.
 *
 * The rows that will be trained are estimated from the keys of a part of the data, and counted in
 * the plan; without data they are unknown, and none are. The most rows that there can be is a bound
 * by the job alone.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_PLAN_MEMORY_PLAN_TABLES_H
#define CLI_PLAN_MEMORY_PLAN_TABLES_H

#include "cli/plan/memory_plan.h"

/* Add what the data need: `data` and the rows of tables, of the ps and of the workers. `data` NULL:
 * the data are unknown. */
void memory_plan_add_data(const struct job *job, const struct variable_table *variables,
                          const struct memory_data *data, struct memory_plan *plan);

#endif
