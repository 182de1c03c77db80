/*
 * model/table_training.h: how a job trains the rows of tables: the optimizer of rows, and the
 * settings that are not defined for them.
 *
 * Pure. Threads: any.
 */
#ifndef MODEL_TABLE_TRAINING_H
#define MODEL_TABLE_TRAINING_H

#include "common/base/error.h"
#include "common/cluster/job.h"
#include "kernels/sparse/update.h"

/* The optimizer of rows. TN_EINVAL: the job's has no form for rows; the error names the remedy. */
MUST_CHECK enum tn_status table_optimizer_of_job(const struct job *job,
                                                 struct sparse_optimizer *out, struct error *error);

/* Whether a job can train a model with the table `table`. TN_EINVAL names the key, its value and
 * the remedy. */
MUST_CHECK enum tn_status table_training_check(const struct job *job, const char *table,
                                               struct error *error);

#endif
