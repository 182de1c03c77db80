/*
 * common/job/job_resume.h: which keys of a job `--resume` may change between two starts of a run:
 * those of the learning rate (common/job/job_rate.h), and those of the layout. The layout is how
 * the parameters lie on nodes: the strategy, the number of ps, the members of a group, the
 * placement, and the borders between the rows of ps. It changes no bit of a sync run.
 *
 * Threads: a job is plain data.
 */
#ifndef COMMON_JOB_JOB_RESUME_H
#define COMMON_JOB_JOB_RESUME_H

#include "common/job/job.h"

/* Give a job that continues the stored one the values that it need not name again: earlier learning
 * rates, and, for the same number of ps, the borders between their rows. */
void job_resume_adopt(struct job *job, const struct job *stored);

/* The two have another layout: their nodes must not meet (T1). A job in one process has that of a
 * job with ps. */
bool job_layout_differs(const struct job *from, const struct job *to);
/* The two have another strategy: the first of the differences for people. */
bool job_strategy_differs(const struct job *from, const struct job *to);

/* The two differ in the rate or the layout, and in no other fixed key. */
bool job_resume_allows(const struct job *from, const struct job *to);

/* The keys that `--resume` may change in which the two differ, for people:
 * "train.learning_rate 0.1 -> 0.01, cluster.ps 2 -> 3". */
void job_resume_text(const struct job *from, const struct job *to, char *text, size_t size);

/* "ps", "group": the strategy of a job, for people. */
const char *job_strategy_text(const struct job *job);

/* TN_EINVAL: the placement changes, and the order of the parameters in the checkpoints of `from`
 * cannot be found. */
MUST_CHECK enum tn_status job_resume_check(const struct job *from, const struct job *to,
                                           struct error *error);

#endif
