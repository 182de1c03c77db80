/*
 * data/job_columns.h: the keys of a job that its feature columns decide: model.inputs and
 * model.embeddings. Nodes without the files, as ps, build the model from these keys.
 *
 * Threads: any. Blocking: on the disk; the files are opened, not read.
 */
#ifndef DATA_JOB_COLUMNS_H
#define DATA_JOB_COLUMNS_H

#include "common/job/job.h"
#include "data/columns/columns.h"

/* Set those of the keys that were not given, from the columns and the first files for training, if
 * the job has rows. Errors as column_table_open(). */
MUST_CHECK enum tn_status job_columns_settle(struct job *job, struct error *error);

/* TN_EINVAL: model.embeddings are not those of the columns. */
MUST_CHECK enum tn_status job_columns_check(const struct job *job, const struct columns *columns,
                                            struct error *error);

#endif
