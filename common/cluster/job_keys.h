/*
 * common/cluster/job_keys.h: the keys of a job file as one table, which serves the file, --set, the
 * canonical JSON, the hash and the reference in docs/job-file.md. Private to common/cluster/job.c.
 */
#ifndef COMMON_CLUSTER_JOB_KEYS_H
#define COMMON_CLUSTER_JOB_KEYS_H

#include "common/base/json_codec.h"
#include "common/cluster/job.h"

/* Tags. */
enum {
    JOB_KEY_FIXED = 1, /* Must not change while a node runs: job_hash() covers them. */
    JOB_KEY_RATE = 2,  /* The fixed keys that `--resume` may change: struct job_rate. */
};

/* Its records are of type struct job. */
extern const struct json_table job_keys;

#endif
