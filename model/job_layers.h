/*
 * model/job_layers.h: models of type "layers": the list `model.layers` of a job file as a graph.
 *
 * A layer is an object with one key, {"conv2d": {"filters": 32}}; a short form gives its main key,
 * {"dense": 10}, or only its name, "flatten". Joins contain lists: {"residual": [...]} adds its
 * input to the result of the layers in it, {"concat": [[...], [...]]} joins branches. Layer i of
 * type t has the scope "tI", I = i + 1, of its own list; branch b of several has the scope
 * "branchB", B = b + 1. {"dense": 10, "task": 1} is computed by member 1 of a group, {"dense": 10,
 * "gpu": 1} by GPU 1 of a worker: their devices are /job:worker/task:1 and /gpu:1.
 */
#ifndef MODEL_JOB_LAYERS_H
#define MODEL_JOB_LAYERS_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "tanist/graph.h"

enum { JOB_LAYERS_DEPTH_MAX = 8 /* Joins inside each other. */ };

/* The value of the list's last layer, for the input `x`. TN_EINVAL: the error names the layer
 * ("model.layers[3].conv2d.filters"), the value and the remedy. TN_ENOMEM. */
MUST_CHECK enum tn_status job_layers_build(const struct job *job, struct tn_graph *graph,
                                           tn_tensor x, tn_tensor *out, struct error *error);

/* Whether the inputs go to an embedding, so that the field "inputs" has bytes instead of floats. */
bool job_layers_read_ids(const struct job *job);

#endif
