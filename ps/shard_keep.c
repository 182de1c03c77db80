/* A shard keeps the answer of an earlier step, to be evaluated, and its arrays, to be saved. */
#include <assert.h>

#include "ps/shard.h"

bool shard_keep(struct shard *shard, bool arrays)
{
    assert(shard->current[0] != NULL);
    shard_unkeep(shard, arrays);
    if (!arrays) {
        assert(!shard->config.no_answers);
        shard->kept_answer = buffer_retain(shard->answer);
        return true;
    }
    if (!shard_copy_state(shard)) { return false; }
    for (uint32_t a = 0; a < shard->arrays; a++) {
        shard->kept_arrays[a] = buffer_retain(shard->current[a]);
    }
    shard->kept_updates = shard->updates;
    return true;
}

void shard_unkeep(struct shard *shard, bool arrays)
{
    if (!arrays) {
        buffer_release(shard->kept_answer);
        shard->kept_answer = NULL;
        return;
    }
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        buffer_release(shard->kept_arrays[a]);
        shard->kept_arrays[a] = NULL;
    }
}
