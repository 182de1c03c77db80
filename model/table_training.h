/*
 * model/table_training.h: the settings that are not defined for tables of rows.
 *
 * Pure. Threads: any.
 */
#ifndef MODEL_TABLE_TRAINING_H
#define MODEL_TABLE_TRAINING_H

#include "common/base/error.h"
#include "common/job/job.h"

/* Whether a job can train a model with the table `table`. TN_EINVAL names the key, its value and
 * the remedy. */
MUST_CHECK enum tn_status table_training_check(const struct job *job, const char *table,
                                               struct error *error);

#endif
