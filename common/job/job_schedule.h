/* common/job/job_schedule.h: checks the keys of a job that give the learning rate. For
 * common/job/job.c and tests. */
#ifndef COMMON_JOB_JOB_SCHEDULE_H
#define COMMON_JOB_JOB_SCHEDULE_H

#include "common/job/job.h"

/* TN_EINVAL: a key of `train.schedule` is missing, out of place or inconsistent with another; the
 * error names both and the remedy. */
MUST_CHECK enum tn_status job_check_schedule(const struct job *job, struct error *error);

#endif
