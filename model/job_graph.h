/*
 * model/job_graph.h: the model of a job file as a graph: "mlp", "softmax" and "linear",
 * the layers of the file itself, ONNX files (model/onnx/import.h), and models of the user's code
 * (model/user_model.h).
 *
 * Fields: "inputs" (float32 [batch, inputs], or as model.shape and the first layer have it), and
 * "labels" (uint8 [batch]) for classifiers or "targets" (float32 [batch, outputs]) for regression.
 * A classifier has the metric "accuracy", a regression the output "outputs".
 */
#ifndef MODEL_JOB_GRAPH_H
#define MODEL_JOB_GRAPH_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "tanist/graph.h"

/* Build the model of a job. The graph belongs to the caller.
 *
 *   TN_EINVAL  a key of the model has a wrong value, or the graph has an error
 *   TN_ENOMEM  out of memory
 */
MUST_CHECK enum tn_status job_graph_create(const struct job *job, struct tn_graph **out,
                                           struct error *error);

#endif
