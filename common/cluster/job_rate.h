/*
 * common/cluster/job_rate.h: changes of the learning rate while a job is trained. The rate is a
 * function of the job and the step alone: `train.before` keeps the earlier rates and schedules, so
 * that a step that is done again, after a failure or from an older checkpoint, has the rate that it
 * had (A16).
 *
 * Threads: a job is plain data.
 */
#ifndef COMMON_CLUSTER_JOB_RATE_H
#define COMMON_CLUSTER_JOB_RATE_H

#include "common/cluster/job.h"

/* The rate and the schedule that the job has now; `until` is UINT64_MAX. */
struct job_rate job_rate_of(const struct job *job);

/* Make it the rate that the job has now. */
void job_rate_set(struct job *job, const struct job_rate *rate);

/* A `job` that a user gave continues `stored`: without `train.before`, it gets that of `stored`. */
void job_rate_adopt(struct job *job, const struct job *stored);

/* Whether the rates or schedules that the two have now differ; earlier ones are not compared. */
bool job_rate_differs(const struct job *a, const struct job *b);

/* The rates that the two have now are all in which they must not differ, but do. */
bool job_rate_alone_differs(const struct job *a, const struct job *b);

/*
 * `job` replaces `stored` at `step`, from where training continues: the steps below it keep the
 * rates of `stored`. Steps beyond it that `stored` knew are forgotten.
 *
 * TN_EINVAL: `train.before` is full.
 */
MUST_CHECK enum tn_status job_rate_change(struct job *job, const struct job *stored, uint64_t step,
                                          struct error *error);

/* The keys in which the rates of the two differ, for people: "train.learning_rate 0.1 -> 0.01". */
void job_rate_text(const struct job *from, const struct job *to, char *text, size_t size);

#endif
