/*
 * model/job_embed.h: the embeddings of feature columns (`model.embeddings`) as the first operations
 * of a model. The table of embedding NAME is the variable "columns/NAME/rows".
 */
#ifndef MODEL_JOB_EMBED_H
#define MODEL_JOB_EMBED_H

#include "common/cluster/job.h"
#include "tanist/graph.h"

/* `x` is float32 [batch, inputs]. Each input that is the number of a row is replaced by the row;
 * without embeddings the result is `x`. */
tn_tensor job_embed(struct tn_graph *graph, const struct job *job, tn_tensor x);

#endif
