/* common/cluster/job_schedule.h: checks the keys of a job that give the learning rate. For
 * common/cluster/job.c and tests. */
#ifndef COMMON_CLUSTER_JOB_SCHEDULE_H
#define COMMON_CLUSTER_JOB_SCHEDULE_H

#include "common/cluster/job.h"

/* TN_EINVAL: a key of `train.schedule` is missing, out of place or inconsistent with another; the
 * error names both and the remedy. */
MUST_CHECK enum tn_status job_check_schedule(const struct job *job, struct error *error);

#endif
