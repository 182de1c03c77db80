/* common/job/job_strategy.h: whether the keys of a job agree with its strategy; a part of
 * job_check(). */
#ifndef COMMON_JOB_JOB_STRATEGY_H
#define COMMON_JOB_JOB_STRATEGY_H

#include "common/base/error.h"
#include "common/job/job.h"

/* TN_EINVAL names the key, its value and the remedy. */
MUST_CHECK enum tn_status job_check_strategy(const struct job *job, struct error *error);

/* Whether a process may have cluster.workers_per_process workers; a part of it. The same errors. */
MUST_CHECK enum tn_status job_check_workers_per_process(const struct job *job, struct error *error);

#endif
