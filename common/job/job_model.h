/*
 * common/job/job_model.h: the keys of a job's model: its loss, its classes, and which of them
 * fit together. Private to common/job/job.c. Pure.
 */
#ifndef COMMON_JOB_JOB_MODEL_H
#define COMMON_JOB_JOB_MODEL_H

#include "common/base/error.h"
#include "common/job/job.h"

/* TN_EINVAL: keys of the model, or of the model and its data, that do not fit together. */
MUST_CHECK enum tn_status job_check_model(const struct job *job, struct error *error);

#endif
