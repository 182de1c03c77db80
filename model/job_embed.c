#include "model/job_embed.h"

#include <assert.h>

#include "tanist/layers.h"

static tn_tensor row_of(struct tn_graph *graph, const struct job_embedding *one, tn_tensor x)
{
    tn_tensor id = tn_cast(graph, tn_slice(graph, x, 1, one->input, 1), TN_INT32, 1);
    id = tn_reshape(graph, id, TN_SHAPE(TN_BATCH));
    return tn_embed(graph, one->name, id, one->rows, one->width);
}

tn_tensor job_embed(struct tn_graph *graph, const struct job *job, tn_tensor x)
{
    tn_tensor parts[2 * JOB_EMBEDDINGS_MAX + 1];
    uint32_t count = 0, at = 0;
    if (job->model.embedding_count == 0) { return x; }
    tn_scope_begin(graph, "columns");
    for (uint32_t i = 0; i < job->model.embedding_count; i++) {
        const struct job_embedding *one = &job->model.embeddings[i];
        assert(one->input >= at && one->input < job->model.inputs);
        if (one->input > at) { parts[count++] = tn_slice(graph, x, 1, at, one->input - at); }
        parts[count++] = row_of(graph, one, x);
        at = one->input + 1;
    }
    if (at < job->model.inputs) {
        parts[count++] = tn_slice(graph, x, 1, at, job->model.inputs - at);
    }
    tn_tensor joined = tn_concat(graph, parts, count, 1);
    tn_scope_end(graph);
    return joined;
}
