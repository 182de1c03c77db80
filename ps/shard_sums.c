/* The sums of pushed gradients, block by block, and the norms of what they sum up to. */
#include <assert.h>

#include "common/base/minmax.h"
#include "ps/shard_private.h"

const float *shard_pushed_at(const struct shard *shard, uint32_t slot, uint64_t offset)
{
    const uint64_t chunk = shard->config.chunk_bytes / sizeof(float);
    const struct pushed_gradient *source = shard->sources[slot];
    assert(source != NULL && offset < shard->config.count);
    assert(offset / chunk + source->count >= source->capacity && !source->ended);
    if (source->array != NULL) { return (const float *)source->array->data + offset; }
    return (const float *)source->chunks[offset / chunk]->data + offset % chunk;
}

uint32_t shard_block_at(const struct shard *shard, uint64_t offset)
{
    const uint64_t chunk = shard->config.chunk_bytes / sizeof(float);
    uint64_t left = u64_min(shard->config.count - offset, chunk - offset % chunk);
    return (uint32_t)u64_min(left, SHARD_BLOCK);
}

void shard_pushed_gradient(const struct shard *shard, const struct slice_sum *sums,
                           uint32_t sum_count, uint32_t root, uint64_t offset,
                           struct block_gradient *out)
{
    out->term_count = sum_count;
    out->values = sum_count == 0 ? shard_pushed_at(shard, root, offset) : NULL;
    bool begun[SLICES_MAX] = {false};
    for (uint32_t i = 0; i < sum_count; i++) {
        const uint32_t left = sums[i].into, right = sums[i].from;
        out->terms[i].left = begun[left] ? NULL : shard_pushed_at(shard, left, offset);
        out->terms[i].right = begun[right] ? NULL : shard_pushed_at(shard, right, offset);
        begun[left] = true;
    }
}

const float *shard_gradient_at(const struct shard *shard, const struct block_gradient *gradient,
                               uint32_t at, uint32_t count)
{
    assert(count >= 1 && count <= SHARD_BLOCK);
    if (gradient->term_count == 0) { return gradient->values + at; }
    shard->config.kernels->sum_tree(at, count, gradient->term_count, gradient->terms, shard->sum);
    return shard->sum;
}

uint32_t shard_plan_sums(struct shard *shard, const struct slice_node *parts,
                         const struct pushed_gradient *const *pushed, uint32_t part_count,
                         struct slice_node *whole, struct slice_sum sums[static SLICES_MAX])
{
    assert(part_count >= 1 && part_count <= shard->config.slices);
    for (uint32_t i = 0; i < part_count; i++) {
        const uint32_t slot = parts[i].first;
        const bool is_held = pushed == NULL || pushed[i] == NULL;
        shard->sources[slot] = is_held ? shard->slots[slot] : pushed[i];
        assert(shard->sources[slot] != NULL);
    }
    *whole = slices_join(parts, part_count);
    return slices_plan(shard->config.slices, *whole, parts, part_count, sums);
}

/* ------------------------------------------------------------------- norms */

static void measure_block(struct shard *shard, const float *gradient, uint64_t offset,
                          uint32_t count, struct measurement *out)
{
    const float *arrays[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (uint32_t a = 0; a < shard->arrays; a++) {
        const struct buffer *array = shard->current[a];
        arrays[a] = array != NULL ? (const float *)array->data + offset : NULL;
    }
    measurement_add(out, &shard->config.optimizer, shard->updates, count, arrays, gradient);
}

bool shard_measure(struct shard *shard, const struct slice_node *parts, uint32_t part_count,
                   struct measurement *out)
{
    struct slice_node whole;
    struct slice_sum sums[SLICES_MAX];
    const bool needs_state = optimizer_norms_need_state(&shard->config.optimizer);
    if (needs_state && !shard_copy_state(shard)) { return false; }
    uint32_t sum_count = shard_plan_sums(shard, parts, NULL, part_count, &whole, sums);
    measurement_begin(out, shard->config.first, shard->config.count);
    struct block_gradient gradient;
    uint32_t count;
    for (uint64_t offset = 0; offset < shard->config.count; offset += count) {
        count = shard_block_at(shard, offset);
        shard_pushed_gradient(shard, sums, sum_count, whole.first, offset, &gradient);
        measure_block(shard, shard_gradient_at(shard, &gradient, 0, count), offset, count, out);
    }
    return true;
}

void shard_measure_gradient(struct shard *shard, const struct shard_gradient *parts,
                            uint32_t part_count, struct measurement *out)
{
    uint32_t count;
    measurement_begin(out, shard->config.first, shard->config.count);
    for (uint32_t i = 0; i < part_count; i++) {
        for (uint64_t at = 0; at < parts[i].count; at += count) {
            count = (uint32_t)u64_min(parts[i].count - at, SHARD_BLOCK);
            measure_block(shard, parts[i].values + at, parts[i].first + at, count, out);
        }
    }
}
