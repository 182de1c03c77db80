/* A shard whose arrays are in the memory of a GPU (ps/shard_gpu.h): the host has the values, which
 * are sent from there, and the state only while it is loaded or saved. */
#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "ps/shard_private.h"

enum tn_status shard_device_open(struct shard *shard, struct error *error)
{
    const struct shard_config *config = &shard->config;
    if (config->gpu.library == NULL) { return TN_OK; }
    assert(config->kept == NULL && !config->no_answers);
    const struct shard_gpu_config gpu = {
        .place = config->gpu,
        .count = config->count,
        .arrays = shard->arrays,
        .slices = config->slices,
    };
    return shard_gpu_open(&gpu, &shard->gpu, error);
}

bool shard_device_load(struct shard *shard)
{
    float *arrays[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (uint32_t a = 0; a < shard->arrays; a++) { arrays[a] = shard->incoming[a]->data; }
    if (shard_gpu_write(shard->gpu, arrays, &shard->failure) != TN_OK) { return false; }
    for (uint32_t a = 1; a < shard->arrays; a++) {
        buffer_release(shard->incoming[a]);
        shard->incoming[a] = NULL;
    }
    return true;
}

/* See shard_gpu_pushed. */
static void copy_pushed(const void *ctx, uint32_t slot, uint64_t offset, uint64_t count, float *out)
{
    const struct shard *shard = ctx;
    uint64_t size;
    for (uint64_t at = 0; at < count; at += size) {
        size = u64_min(shard_block_at(shard, offset + at), count - at);
        memcpy(out + at, shard_pushed_at(shard, slot, offset + at), size * sizeof *out);
    }
}

bool shard_device_apply(struct shard *shard, const struct slice_sum *sums, uint32_t sum_count,
                        uint32_t root, uint64_t offset, uint64_t count)
{
    const struct shard_config *config = &shard->config;
    float *values = shard->next.arrays[0]->data, *answer = shard->next.answer->data;
    const bool averages = optimizer_has_average(&config->optimizer);
    const struct shard_gpu_update update = {
        .optimizer = &config->optimizer,
        .step = shard->updates,
        .first = config->first,
        .offset = offset,
        .count = count,
        .sums = sums,
        .sum_count = sum_count,
        .root = root,
        .pushed = copy_pushed,
        .ctx = shard,
        .values = values,
        .average = averages ? answer + config->count : NULL,
    };
    if (shard_gpu_apply(shard->gpu, &update, &shard->failure) != TN_OK) { return false; }
    if (averages) { memcpy(answer + offset, values + offset, count * sizeof *answer); }
    return true;
}

bool shard_copy_state(struct shard *shard)
{
    if (shard->gpu == NULL) { return true; }
    for (uint32_t a = 1; a < shard->arrays; a++) {
        if (shard->current[a] != NULL) { continue; }
        struct buffer *copy = shard_acquire_array(shard, a);
        if (copy == NULL) {
            shard_device_drop_state(shard); /* The memory may be needed for the next step. */
            return false;
        }
        if (shard_gpu_read(shard->gpu, a, copy->data, &shard->failure) != TN_OK) {
            buffer_release(copy);
            return false;
        }
        shard->current[a] = copy;
    }
    return true;
}

void shard_device_drop_state(struct shard *shard)
{
    if (shard->gpu == NULL) { return; }
    for (uint32_t a = 1; a < shard->arrays; a++) {
        buffer_release(shard->current[a]);
        shard->current[a] = NULL;
    }
}
