/*
 * common/job/job_embeddings.h: the key `model.embeddings`: which inputs of a model are numbers
 * of rows, and the embeddings that they choose from. For common/job/job.c and tests.
 */
#ifndef COMMON_JOB_JOB_EMBEDDINGS_H
#define COMMON_JOB_JOB_EMBEDDINGS_H

#include "common/base/json_codec.h"
#include "common/job/job.h"

/* An element of the list. */
extern const struct json_field job_embedding_field;

/* TN_EINVAL: an element is out of range or out of order, or the model has no place for embeddings;
 * the error names it and the remedy. */
MUST_CHECK enum tn_status job_check_embeddings(const struct job *job, struct error *error);

#endif
