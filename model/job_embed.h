/*
 * model/job_embed.h: the embeddings of feature columns (`model.embeddings`) as the first operations
 * of a model. The rows of embedding NAME are the variable "columns/NAME/rows", or the table of this
 * path.
 */
#ifndef MODEL_JOB_EMBED_H
#define MODEL_JOB_EMBED_H

#include "common/job/job.h"
#include "tanist/graph.h"

/* `x` is float32 [batch, inputs]. Each input that is the number of a row, or stands for a key of a
 * table, is replaced by the row; without embeddings the result is `x`. */
tn_tensor job_embed(struct tn_graph *graph, const struct job *job, tn_tensor x);

#endif
