/*
 * common/job/job_manifest.h: the part that is equal in all manifests of a job's checkpoints.
 */
#ifndef COMMON_JOB_JOB_MANIFEST_H
#define COMMON_JOB_JOB_MANIFEST_H

#include <stdint.h>

#include "common/cluster/manifest.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"

/* The fields that all checkpoints of a job share: model, seed, slices, optimizer, mode, and the
 * range of each shard. The rest is 0. `state_arrays`: 1 to MANIFEST_ARRAYS_MAX. */
void job_manifest_init(struct manifest *manifest, const struct job *job,
                       const struct variable_table *variables, uint32_t state_arrays);

#endif
