/*
 * common/job/job_rate.h: changes of the learning rate while a job is trained. The rate depends only
 * on the job and the step: `train.before` records the earlier rates and schedules, so that a step
 * that is repeated, after a failure or from an older checkpoint, has the same rate as before (A16).
 *
 * Threads: a job is plain data.
 */
#ifndef COMMON_JOB_JOB_RATE_H
#define COMMON_JOB_JOB_RATE_H

#include "common/job/job.h"

/* The current rate and schedule of the job; `until` is UINT64_MAX. */
struct job_rate job_rate_of(const struct job *job);

/* Make it the rate that the job has now. */
void job_rate_set(struct job *job, const struct job_rate *rate);

/* `job`, from a user, continues the job `stored`: if it has no `train.before`, it gets that of
 * `stored`. */
void job_rate_adopt(struct job *job, const struct job *stored);

/* Whether the current rates or schedules of the two jobs differ; earlier ones are not compared. */
bool job_rate_differs(const struct job *a, const struct job *b);

/*
 * `job` replaces `stored` at `step`, from where training continues: the steps below it keep the
 * rates of `stored`. Entries of `stored` for later steps are removed.
 *
 * TN_EINVAL: `train.before` is full.
 */
MUST_CHECK enum tn_status job_rate_change(struct job *job, const struct job *stored, uint64_t step,
                                          struct error *error);

#endif
