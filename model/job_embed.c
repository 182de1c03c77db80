#include "model/job_embed.h"

#include <assert.h>

#include "tanist/layers.h"

/* Uniform values with the deviation of those that tn_embed() has, 0.02. */
#define TABLE_SCALE 0.0346F

static tn_tensor row_of(struct tn_graph *graph, const struct job_embedding *one, tn_tensor x)
{
    tn_tensor id = tn_cast(graph, tn_slice(graph, x, 1, one->input, 1), TN_INT32, 1);
    id = tn_reshape(graph, id, TN_SHAPE(TN_BATCH));
    return tn_embed(graph, one->name, id, one->rows, one->width);
}

/* The rows of the embeddings with tables are those of the keys, one for each in their order. */
static tn_tensor keys_of(struct tn_graph *graph, const struct job *job)
{
    int64_t keys = 0;
    for (uint32_t i = 0; i < job->model.embedding_count; i++) {
        keys += job->model.embeddings[i].table;
    }
    if (keys == 0) { return TN_NONE; }
    return tn_placeholder(graph, "keys", TN_INT64, TN_SHAPE(TN_BATCH, keys));
}

static tn_tensor looked_up(struct tn_graph *graph, const struct job_embedding *one, tn_tensor keys,
                           uint32_t key)
{
    const struct tn_table_options options = {.scale = TABLE_SCALE};
    tn_scope_begin(graph, one->name);
    const tn_table table = tn_table_create(graph, "rows", one->width, &options);
    const tn_tensor rows = tn_lookup(graph, table, keys, key, 1, TN_POOL_NONE);
    tn_scope_end(graph);
    return tn_reshape(graph, rows, TN_SHAPE(TN_BATCH, one->width));
}

tn_tensor job_embed(struct tn_graph *graph, const struct job *job, tn_tensor x)
{
    tn_tensor parts[2 * JOB_EMBEDDINGS_MAX + 1];
    uint32_t count = 0, at = 0, key = 0;
    if (job->model.embedding_count == 0) { return x; }
    const tn_tensor keys = keys_of(graph, job);
    tn_scope_begin(graph, "columns");
    for (uint32_t i = 0; i < job->model.embedding_count; i++) {
        const struct job_embedding *one = &job->model.embeddings[i];
        assert(one->input >= at && one->input < job->model.inputs);
        if (one->input > at) { parts[count++] = tn_slice(graph, x, 1, at, one->input - at); }
        parts[count++] = one->table ? looked_up(graph, one, keys, key++) : row_of(graph, one, x);
        at = one->input + 1;
    }
    if (at < job->model.inputs) {
        parts[count++] = tn_slice(graph, x, 1, at, job->model.inputs - at);
    }
    tn_tensor joined = tn_concat(graph, parts, count, 1);
    tn_scope_end(graph);
    return joined;
}
