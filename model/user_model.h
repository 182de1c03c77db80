/*
 * model/user_model.h: models that the user's code builds (tanist/model.h): that of this program, or
 * of a library (model/user_library.h).
 *
 * Threads: user_model_set_program() before others exist; the rest any.
 */
#ifndef MODEL_USER_MODEL_H
#define MODEL_USER_MODEL_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "tanist/model.h"

/* Check the members of a model that `source` brings, a file or program. TN_EINVAL: the error names
 * the member, its value and the remedy. */
MUST_CHECK enum tn_status user_model_check(const struct tn_model *model, const char *source,
                                           struct error *error);

/* The model of this program, which outlives it; it gives job_init() its defaults, too. TN_EINVAL:
 * it or its defaults are not valid. */
MUST_CHECK enum tn_status user_model_set_program(const struct tn_model *model, struct error *error);

/* The model of a job of the type "program" or "library". TN_EINVAL: this program has none, or the
 * library is not valid. */
MUST_CHECK enum tn_status user_model_find(const struct job *job, const struct tn_model **out,
                                          struct error *error);

/* Append that model to an empty graph, and check its fields. TN_EINVAL: a field is unknown or does
 * not have the job's size; errors of the graph stick to it. */
MUST_CHECK enum tn_status user_model_build(const struct job *job, struct tn_graph *graph,
                                           struct error *error);

#endif
