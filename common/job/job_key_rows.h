/*
 * common/job/job_key_rows.h: rows of the table of keys, and its parts: a file for each subject.
 * Private to common/job/job_keys*.c.
 */
#ifndef COMMON_JOB_JOB_KEY_ROWS_H
#define COMMON_JOB_JOB_KEY_ROWS_H

#include "common/base/json_codec.h"
#include "common/job/job.h"
#include "common/job/job_keys.h"

enum {
    CHANGEABLE = 0,
    FIXED = JOB_KEY_FIXED,
    RESUMED = JOB_KEY_FIXED | JOB_KEY_RESUME,
    RATE = RESUMED | JOB_KEY_RATE,
};

#define AT(member) JSON_MEMBER(struct job, member)
#define TEXT(key, member, tag_set, text)                                                           \
    {                                                                                              \
        .name = key, .type = FIELD_TEXT, AT(member), .tags = tag_set, .help = text                 \
    }
#define SWITCH(key, member, tag_set, text)                                                         \
    {                                                                                              \
        .name = (key), .type = FIELD_BOOL, AT(member), .tags = (tag_set), .help = (text)           \
    }
#define NAME(kind, key, member, list, tag_set, text)                                               \
    {                                                                                              \
        .name = key, .type = kind, AT(member), .names = list, .tags = tag_set, .help = text        \
    }
#define NUMBER(kind, key, member, low, high, tag_set, text)                                        \
    {                                                                                              \
        .name = key, .type = kind, AT(member), .least = low, .most = high, .tags = tag_set,        \
        .help = text                                                                               \
    }

#define MANY 9e15 /* Whole numbers up to this are exact in a double, and hence in JSON. */

extern const struct json_part job_keys_model; /* model.* */
extern const struct json_part job_keys_data;  /* data.* */
extern const struct json_part job_keys_train; /* train.* */
extern const struct json_part job_keys_run;   /* Evaluations, checkpoints, curves, the cluster. */

#endif
