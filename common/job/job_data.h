/*
 * common/job/job_data.h: the keys of `data` that are not single values. Columns and labels are
 * kept as text, in the order in which they were written, which is that of the inputs;
 * data/columns/ gives them a meaning.
 */
#ifndef COMMON_JOB_JOB_DATA_H
#define COMMON_JOB_JOB_DATA_H

#include "common/base/json_codec.h"
#include "common/job/job.h"

extern const struct json_converter job_columns_converter; /* A char[JOB_COLUMNS_MAX]. */
extern const struct json_converter job_label_converter;   /* A char[JOB_LABEL_MAX]. */
extern const struct json_converter job_shuffle_converter; /* A struct job_shuffle. */

/* Check what concerns several keys of `data`. TN_EINVAL. */
MUST_CHECK enum tn_status job_check_data(const struct job *job, struct error *error);

#endif
