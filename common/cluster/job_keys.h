/*
 * common/cluster/job_keys.h: the keys of a job file, as one table that serves the file, --set, the
 * canonical JSON, the hash and the reference in docs/job-file.md. Private to common/job*.c.
 */
#ifndef COMMON_CLUSTER_JOB_KEYS_H
#define COMMON_CLUSTER_JOB_KEYS_H

#include <jansson.h>

#include "common/cluster/job.h"

enum key_type {
    KEY_TEXT,    /* char[`most`] */
    KEY_COUNT,   /* uint32_t */
    KEY_LONG,    /* uint64_t */
    KEY_OR_NONE, /* uint64_t; "none" is UINT64_MAX */
    KEY_REAL,    /* double */
    KEY_CHOICE,  /* an enum, by its place in `choices` */
    KEY_WORD,    /* char[`most`] that must be one of `choices` */
    KEY_COUNTS,  /* model.hidden: uint32_t[], its length in `length_offset` */
};

struct job_key {
    const char *name; /* "train.steps" */
    enum key_type type;
    size_t offset, length_offset;
    double least, most; /* Bounds of a number, both allowed; of a text: its buffer in bytes. */
    const char *const *choices; /* NULL-ended. */
    bool fixed;                 /* Must not change while a cluster lives: part of job_hash(). */
    const char *help;
};

extern const struct job_key job_keys[];
extern const size_t job_key_count;

/* NULL: no such key. */
const struct job_key *job_key_find(const char *name);

/* Put `value` where the key lives. TN_EINVAL with key, value and what is allowed. */
MUST_CHECK enum tn_status job_key_assign(const struct job_key *key, const json_t *value,
                                         struct job *job, struct error *error);

/* The key's value; a new reference, NULL: out of memory. */
json_t *job_key_value(const struct job_key *key, const struct job *job);

#endif
