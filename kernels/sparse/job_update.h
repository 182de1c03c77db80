/*
 * kernels/sparse/job_update.h: the optimizer of table rows that a job names.
 *
 * Pure. Threads: any.
 */
#ifndef KERNELS_SPARSE_JOB_UPDATE_H
#define KERNELS_SPARSE_JOB_UPDATE_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "kernels/sparse/update.h"

/* TN_EINVAL: the job's optimizer has no form for rows; the error names the remedy. */
MUST_CHECK enum tn_status table_optimizer_of_job(const struct job *job,
                                                 struct sparse_optimizer *out, struct error *error);

#endif
