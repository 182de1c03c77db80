/*
 * cli/run/summaries_graph.h: the model of a job as TensorFlow's GraphDef, for TensorBoard: each
 * node with the task that owns or computes it as its device.
 *
 * Threads: the owner's.
 */
#ifndef CLI_RUN_SUMMARIES_GRAPH_H
#define CLI_RUN_SUMMARIES_GRAPH_H

#include "agent/observe/proto.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"

/* A variable on several ps has the device of the first. Empty if the graph cannot be built here, as
 * without the file of an ONNX model. Free it with proto_free(). */
struct proto summaries_graph_of(const struct job *job, const struct variable_table *variables);

#endif
