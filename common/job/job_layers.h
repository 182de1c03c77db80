/*
 * common/job/job_layers.h: the keys `model.layers` and `model.options` of a job: any JSON list
 * or object, kept as canonical text, so that jobs can be compared and stored by programs that know
 * no layers. model/job_layers.h and the code of a user's model give them a meaning.
 */
#ifndef COMMON_JOB_JOB_LAYERS_H
#define COMMON_JOB_JOB_LAYERS_H

#include "common/base/json_codec.h"

/* The member is a char[JOB_LAYERS_MAX]. */
extern const struct json_converter job_layers_converter;
/* The member is a char[JOB_OPTIONS_MAX]. */
extern const struct json_converter job_options_converter;

#endif
