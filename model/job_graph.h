/*
 * model/job_graph.h: the models "mlp", "softmax" and "linear" of a job file as lists of layers.
 *
 * Fields: "inputs" (float32 [batch, inputs]), and "labels" (uint8 [batch]) for classifiers or
 * "targets" (float32 [batch, outputs]) for regression. The variables have the names, order and
 * initial values of worker/models/.
 */
#ifndef MODEL_JOB_GRAPH_H
#define MODEL_JOB_GRAPH_H

#include "common/base/error.h"
#include "common/cluster/job.h"
#include "tanist/graph.h"

/* Build the model of a job that was checked. The graph belongs to the caller.
 *
 *   TN_EINVAL  model.type is unknown, or the graph has an error
 *   TN_ENOMEM  out of memory
 */
MUST_CHECK enum tn_status job_graph_create(const struct job *job, struct tn_graph **out,
                                           struct error *error);

#endif
