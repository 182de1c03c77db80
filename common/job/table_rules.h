/*
 * common/job/table_rules.h: the settings of a job file for single tables of rows, by patterns of
 * names (`train.tables`, A17). The first rule whose pattern matches the name of a table applies.
 *
 * Threads: no state.
 */
#ifndef COMMON_JOB_TABLE_RULES_H
#define COMMON_JOB_TABLE_RULES_H

#include "common/cluster/variables.h"
#include "common/job/job.h"

/* The rule for a table. Without one it has the values that an empty rule has. */
struct job_table_rule table_rule_of(const struct job *job, const struct row_table_shape *table);

/* TN_EINVAL: a rule matches no table, lacks or has a key of no use (A17, A18), or needs exact steps
 * in async mode; or counts of keys make too many tables. The error names the rule and the remedy.
 */
MUST_CHECK enum tn_status table_rules_check(const struct job *job,
                                            const struct variable_table *variables,
                                            struct error *error);

#endif
