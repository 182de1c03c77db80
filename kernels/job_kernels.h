/*
 * kernels/job_kernels.h: the kernels that a job's `train.kernels` names.
 *
 * Threads: any.
 */
#ifndef KERNELS_JOB_KERNELS_H
#define KERNELS_JOB_KERNELS_H

#include "common/job/job.h"

/* For kernels_open(): sums of slices, and updates. Static storage. */
const char *job_kernels(const struct job *job);

/* For struct tn_program_options: the model. Static storage. */
const char *job_programs(const struct job *job);

/* Without a GPU, for plans and predictions: with the same bits, except for "cublas". Static
 * storage. */
const char *job_programs_on_cpu(const struct job *job);

#endif
