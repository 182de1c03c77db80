/*
 * common/job/job_keys.h: the keys of a job file as one table, which serves the file, --set, the
 * canonical JSON, the hash and the reference in docs/job-file.md. Private to common/job/.
 */
#ifndef COMMON_JOB_JOB_KEYS_H
#define COMMON_JOB_JOB_KEYS_H

#include "common/base/json_codec.h"
#include "common/job/job.h"

/* Tags. */
enum {
    JOB_KEY_FIXED = 1,  /* Must not change while a node runs: job_hash() covers them. */
    JOB_KEY_RATE = 2,   /* Keys of struct job_rate. */
    JOB_KEY_RESUME = 4, /* The fixed keys that `--resume` may change. */
};

/* Its records are of type struct job. */
extern const struct json_table job_keys;

/* The value of a key as JSON; malloc'ed, NULL: out of memory. `digits`: of real numbers; 0: all
 * that are needed to read the same number. */
char *job_key_text(const struct json_field *key, const struct job *job, size_t digits);

#endif
