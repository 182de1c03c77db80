/* cli/run/validate.h: everything about a job that can be known before anything is started. Blocks
 * on the disk: it loads the data once. */
#ifndef CLI_RUN_VALIDATE_H
#define CLI_RUN_VALIDATE_H

#include "common/cluster/job.h"
#include "common/cluster/variables.h"

/* Checks keys, model, placement over the ps and the data; fills `variables`. TN_EINVAL, TN_ENOENT,
 * TN_ECORRUPT, TN_EIO with what and the remedy. */
MUST_CHECK enum tn_status validate_job(const struct job *job, struct variable_table *variables,
                                       struct error *error);

#endif
