/*
 * cli/plan/validate.h: the job before anything is started: overrides from the command line, and all
 * checks that need no cluster.
 *
 * Threads: any. Blocking: validate_job() on the disk, because it loads the data once.
 */
#ifndef CLI_PLAN_VALIDATE_H
#define CLI_PLAN_VALIDATE_H

#include "cli/options.h"
#include "cli/plan/memory_plan_data.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "data/dataset.h"

/* Read the job that a command was given, or with NULL the defaults of this program's own model
 * (job_has_program()). Errors are those of job_read_file(). */
MUST_CHECK enum tn_status read_job_argument(struct job *job, const char *path, struct error *error);

/* Add the option --set KEY=VALUE, whose values `settings` gets. */
void options_settings(struct options *options, struct option_texts *settings);

/* Apply the values of --set, "KEY=VALUE" each. TN_EINVAL names the value that is wrong. */
MUST_CHECK enum tn_status override_keys(struct job *job, const struct option_texts *settings,
                                        struct error *error);
/* override_keys(), then set the inputs of a model whose data are files with columns. TN_EINVAL
 * names the value that is wrong; the errors of job_columns_settle(). */
MUST_CHECK enum tn_status override_job(struct job *job, const struct option_texts *settings,
                                       struct error *error);

/* read_job_argument(), override_job() and job_check(). */
MUST_CHECK enum tn_status load_job(struct job *job, const char *path,
                                   const struct option_texts *settings, struct error *error);

/* TN_EINVAL: the job runs in one process, so that a node has nothing to do. */
MUST_CHECK enum tn_status require_cluster(const struct job *job, struct error *error);

/* Check the keys, the model and the distribution over the ps; fill `variables`.
 * TN_EINVAL, TN_ENOENT: the error names the problem and the remedy. */
MUST_CHECK enum tn_status validate_model(const struct job *job, struct variable_table *variables,
                                         struct error *error);

/* validate_model(), and check the data. `columns` is the text of dataset_columns(). `memory`,
 * unless it is NULL, gets what the data show for the memory plan. TN_EINVAL, TN_ENOENT,
 * TN_ECORRUPT, TN_EIO: the error names the problem and the remedy. */
MUST_CHECK enum tn_status validate_job(const struct job *job, struct variable_table *variables,
                                       char **columns, struct memory_data *memory,
                                       struct error *error);

/* TN_EINVAL: a batch has more examples than the training set. */
MUST_CHECK enum tn_status validate_batch(const struct job *job, const struct dataset *train,
                                         struct error *error);

/* TN_EINVAL: the optimizer needs the order of the parameters that the placement changes. */
MUST_CHECK enum tn_status validate_placement(const struct job *job,
                                             const struct variable_table *variables,
                                             struct error *error);

#endif
