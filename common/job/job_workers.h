/*
 * common/job/job_workers.h: the value of cluster.workers: a number, or a range such as "2-8" within
 * which the number changes in a running job. Private to common/job/job*.c. Pure.
 */
#ifndef COMMON_JOB_JOB_WORKERS_H
#define COMMON_JOB_JOB_WORKERS_H

#include "common/base/json_codec.h"

/* For the members `workers` and `workers_least` of struct job. */
extern const struct json_converter job_workers_converter;

#endif
