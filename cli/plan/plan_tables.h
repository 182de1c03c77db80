/*
 * cli/plan/plan_tables.h: the tables of rows in `tanist plan`: how much memory a row and the count
 * of a key (A18) take, how many are expected, and how much all of them take at most. They take
 * memory only once they exist.
 *
 * Threads: any.
 */
#ifndef CLI_PLAN_PLAN_TABLES_H
#define CLI_PLAN_PLAN_TABLES_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/plan/memory_plan.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"

/* Print the tables of a model, if it has any, to standard output. False: it cannot be written. */
bool plan_tables_print(const struct job *job, const struct variable_table *variables,
                       const struct memory_plan *plan);

/* The buckets of keys of the ps that has most of them, over the mean of all ps, which are at least
 * one. How often each key is used is in the data alone. */
double plan_tables_imbalance(const struct job *job);

/* The workers of one machine that could share a process (cluster.workers_per_process), and with it
 * their lookups of rows; 0: they cannot, or already do. With several hosts, the
 * workers of each can. */
uint32_t plan_tables_shared_workers(const struct job *job, const struct variable_table *variables);

/* A list of objects with name, width, rows (null: each key has its own), row_bytes, count_bytes and
 * counts (null: keys are not counted), and bytes of all rows and counts together, which all ps
 * share (null: unlimited); then expected_rows (null: the data are unknown) and most_rows, an upper
 * bound by the job. A new reference. */
json_t *plan_tables_json(const struct job *job, const struct variable_table *variables,
                         const struct memory_plan *plan);

#endif
