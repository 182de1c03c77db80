/*
 * common/job/job_resume.h: which fixed keys of a job `--resume` may change between two starts of a
 * run: those of the learning rate (common/job/job_rate.h), and the number of ps and the borders
 * between their rows, which change no bit of a sync run. A strategy without ps has 0 of them, so it
 * may change as well.
 *
 * Threads: a job is plain data.
 */
#ifndef COMMON_JOB_JOB_RESUME_H
#define COMMON_JOB_JOB_RESUME_H

#include "common/job/job.h"

/* Whether each ps has the same part of the parameters and rows. */
bool job_has_same_parts(const struct job *a, const struct job *b);

/* Give a job that continues the stored one the values that it need not name again: earlier learning
 * rates, and, for the same number of ps, the borders between their rows. */
void job_resume_adopt(struct job *job, const struct job *stored);

/* The two differ in fixed keys, and `--resume` may change all of these. */
bool job_resume_allows(const struct job *from, const struct job *to);

/* The keys that `--resume` may change in which the two differ, for people:
 * "train.learning_rate 0.1 -> 0.01, cluster.ps 2 -> 3". */
void job_resume_text(const struct job *from, const struct job *to, char *text, size_t size);

/* TN_EINVAL: the ps of `to`, or its workers, cannot load the checkpoints of `from`. */
MUST_CHECK enum tn_status job_resume_check(const struct job *from, const struct job *to,
                                           struct error *error);
/* The variables of the two have another order: TN_EINVAL if their strategies are the reason. */
MUST_CHECK enum tn_status job_resume_check_order(const struct job *from, const struct job *to,
                                                 struct error *error);

#endif
