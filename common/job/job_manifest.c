#include "common/job/job_manifest.h"

#include <assert.h>

#include "common/base/text.h"
#include "common/job/strategy.h"

void job_manifest_init(struct manifest *manifest, const struct job *job,
                       const struct variable_table *variables, uint32_t state_arrays)
{
    assert(state_arrays >= 1 && state_arrays <= MANIFEST_ARRAYS_MAX);
    *manifest = (struct manifest){
        .variables_hash = variable_table_hash(variables),
        .graph_hash = variables->graph_hash,
        .parameter_count = variables->parameter_count,
        .seed = job->seed,
        .slices = job->train.slices,
        .state_arrays = state_arrays,
        .shard_count = strategy_shards(job),
        .rows = job->placement.rows,
    };
    for (uint32_t p = 0; p < manifest->shard_count; p++) {
        struct placement range = variable_table_shard(variables, manifest->shard_count, p);
        manifest->shards[p] = (struct manifest_shard){.first = range.first, .count = range.count};
    }
    text_set(manifest->optimizer, sizeof manifest->optimizer, optimizer_name(job->train.optimizer));
    text_set(manifest->mode, sizeof manifest->mode,
             job->train.mode == TRAIN_SYNC ? "sync" : "async");
}
