#include "ps/shard.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

enum {
    SCRATCH_BYTES = 256 * 1024, /* The sums of one block should fit the second-level cache. */
    BLOCK_MIN = 256,            /* Floats; a block is a multiple of 16. */
    BLOCK_MAX = 4096,
    LINE_BYTES = 64,
};

static size_t array_bytes(const struct shard *shard)
{
    return shard->config.count * sizeof(float);
}

enum tn_status shard_open(struct shard *shard, const struct shard_config *config,
                          struct error *error)
{
    assert(config->kernels != NULL);
    assert(config->pool != NULL);
    assert(config->count >= 1);
    assert(config->slices >= 1 && config->slices <= SLICES_MAX);
    assert(config->chunk_bytes >= LINE_BYTES && config->chunk_bytes % LINE_BYTES == 0);
    *shard = (struct shard){.config = *config, .arrays = config->optimizer.arrays};
    size_t block = SCRATCH_BYTES / sizeof(float) / config->slices / 16 * 16;
    block = size_min(size_max(block, BLOCK_MIN), BLOCK_MAX);
    shard->block = (uint32_t)block;
    shard->scratch = aligned_alloc(LINE_BYTES, block * config->slices * sizeof(float));
    if (shard->scratch != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for the sums of %" PRIu32 " slices",
                     config->slices);
}

static void release_arrays(struct buffer *arrays[static OPTIMIZER_ARRAYS_MAX])
{
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        buffer_release(arrays[a]);
        arrays[a] = NULL;
    }
}

void shard_close(struct shard *shard)
{
    shard_release_all(shard);
    shard_discard_incoming(shard);
    shard_forget(shard);
    free(shard->scratch);
    shard->scratch = NULL;
}

uint32_t shard_chunks(const struct shard *shard)
{
    return (uint32_t)((array_bytes(shard) - 1) / shard->config.chunk_bytes + 1);
}

void shard_hold(struct shard *shard, uint32_t first, struct pushed *sum)
{
    assert(first < shard->config.slices);
    assert(sum == NULL || sum->count == shard_chunks(shard));
    pushed_free(shard->slots[first]);
    shard->slots[first] = sum;
}

void shard_release(struct shard *shard, uint32_t first)
{
    shard_hold(shard, first, NULL);
}

void shard_release_all(struct shard *shard)
{
    for (uint32_t i = 0; i < shard->config.slices; i++) { shard_release(shard, i); }
}

/* ------------------------------------------------------------------ update */

static bool acquire_arrays(const struct shard *shard, struct buffer *out[OPTIMIZER_ARRAYS_MAX])
{
    assert(shard->arrays >= 1 && shard->arrays <= OPTIMIZER_ARRAYS_MAX);
    memset(out, 0, OPTIMIZER_ARRAYS_MAX * sizeof out[0]);
    for (uint32_t a = 0; a < shard->arrays; a++) {
        out[a] = buffer_acquire(shard->config.pool, array_bytes(shard));
        if (out[a] == NULL) {
            release_arrays(out);
            return false;
        }
        out[a]->size = array_bytes(shard);
    }
    return true;
}

/* The body of answers with the values in `arrays`: these themselves, unless there is an average to
 * be sent with them. NULL: out of memory. */
static struct buffer *acquire_answer(const struct shard *shard,
                                     struct buffer *const arrays[static OPTIMIZER_ARRAYS_MAX])
{
    if (!optimizer_has_average(&shard->config.optimizer)) { return buffer_retain(arrays[0]); }
    struct buffer *answer = buffer_acquire(shard->config.pool, 2 * array_bytes(shard));
    if (answer != NULL) { answer->size = 2 * array_bytes(shard); }
    return answer;
}

static void fill_answer(const struct shard *shard,
                        struct buffer *const arrays[static OPTIMIZER_ARRAYS_MAX],
                        const struct buffer *answer)
{
    const size_t bytes = array_bytes(shard);
    if (answer == arrays[0]) { return; }
    memcpy(answer->data, arrays[0]->data, bytes);
    memcpy((uint8_t *)answer->data + bytes, arrays[shard->arrays - 1]->data, bytes);
}

/* The floats from `offset` on of the sum in a slot, as far as its chunk reaches. */
static const float *pushed_at(const struct shard *shard, uint32_t slot, uint64_t offset)
{
    const uint64_t chunk = shard->config.chunk_bytes / sizeof(float);
    assert(shard->slots[slot] != NULL && offset < shard->config.count);
    return (const float *)shard->slots[slot]->chunks[offset / chunk]->data + offset % chunk;
}

/* The length of the block at `offset`, which is in one chunk. */
static uint32_t block_at(const struct shard *shard, uint64_t offset)
{
    const uint64_t chunk = shard->config.chunk_bytes / sizeof(float);
    uint64_t left = u64_min(shard->config.count - offset, chunk - offset % chunk);
    return (uint32_t)u64_min(left, shard->block);
}

/* Add up `count` floats at `offset` of the held sums in the order of `sums`. The pushed buffers are
 * only read, because a peer in the same process may have references on them, too. */
static const float *sum_block(const struct shard *shard, const struct slice_sum *sums,
                              uint32_t sum_count, uint32_t root, uint64_t offset, uint32_t count)
{
    assert(count >= 1 && count <= shard->block);
    const struct kernels *kernels = shard->config.kernels;
    bool begun[SLICES_MAX] = {false};
    for (uint32_t i = 0; i < sum_count; i++) {
        float *into = shard->scratch + (size_t)sums[i].into * shard->block;
        const float *from = pushed_at(shard, sums[i].from, offset);
        if (begun[sums[i].from]) { from = shard->scratch + (size_t)sums[i].from * shard->block; }
        if (!begun[sums[i].into]) {
            memcpy(into, pushed_at(shard, sums[i].into, offset), count * sizeof *into);
            begun[sums[i].into] = true;
        }
        kernels->add(count, from, into);
    }
    if (begun[root]) { return shard->scratch + (size_t)root * shard->block; }
    return pushed_at(shard, root, offset);
}

static void update_block(const struct shard *shard, const float *gradient, uint64_t offset,
                         uint32_t count, struct buffer *const fresh[OPTIMIZER_ARRAYS_MAX])
{
    assert(offset + count <= shard->config.count);
    const float *in[OPTIMIZER_ARRAYS_MAX] = {NULL};
    float *out[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (uint32_t a = 0; a < shard->arrays; a++) {
        assert(shard->current[a] != NULL);
        assert(fresh[a] != NULL);
        in[a] = (const float *)shard->current[a]->data + offset;
        out[a] = (float *)fresh[a]->data + offset;
    }
    optimizer_apply(&shard->config.optimizer, shard->config.kernels, shard->updates,
                    shard->config.first + offset, count, gradient, in, out);
}

static uint32_t plan_sums(const struct shard *shard, const struct slice_node *parts,
                          uint32_t part_count, struct slice_node *whole,
                          struct slice_sum sums[static SLICES_MAX])
{
    assert(part_count >= 1 && part_count <= shard->config.slices);
    for (uint32_t i = 0; i < part_count; i++) { assert(shard->slots[parts[i].first] != NULL); }
    *whole = slices_join(parts, part_count);
    return slices_plan(shard->config.slices, *whole, parts, part_count, sums);
}

void shard_measure(struct shard *shard, const struct slice_node *parts, uint32_t part_count,
                   struct measurement *out)
{
    struct slice_node whole;
    struct slice_sum sums[SLICES_MAX];
    uint32_t sum_count = plan_sums(shard, parts, part_count, &whole, sums);
    const float *values = (const float *)shard->current[0]->data;
    measurement_begin(out, shard->config.first, shard->config.count);
    uint32_t count;
    for (uint64_t offset = 0; offset < shard->config.count; offset += count) {
        count = block_at(shard, offset);
        const float *sum = sum_block(shard, sums, sum_count, whole.first, offset, count);
        measurement_add(out, &shard->config.optimizer, count, values + offset, sum);
    }
}

bool shard_apply(struct shard *shard, const struct slice_node *parts, uint32_t part_count)
{
    assert(shard->current[0] != NULL);
    struct buffer *fresh[OPTIMIZER_ARRAYS_MAX];
    /* First, so that its memory is used again. */
    buffer_release(shard->previous);
    shard->previous = NULL;
    if (!acquire_arrays(shard, fresh)) { return false; }
    struct buffer *answer = acquire_answer(shard, fresh);
    if (answer == NULL) {
        release_arrays(fresh);
        return false;
    }
    struct slice_node whole;
    struct slice_sum sums[SLICES_MAX];
    uint32_t sum_count = plan_sums(shard, parts, part_count, &whole, sums);
    uint32_t count;
    for (uint64_t offset = 0; offset < shard->config.count; offset += count) {
        count = block_at(shard, offset);
        update_block(shard, sum_block(shard, sums, sum_count, whole.first, offset, count), offset,
                     count, fresh);
    }
    for (uint32_t i = 0; i < part_count; i++) { shard_release(shard, parts[i].first); }
    fill_answer(shard, fresh, answer);
    shard->previous = shard->answer;
    shard->answer = answer;
    release_arrays(shard->current);
    memcpy(shard->current, fresh, sizeof fresh);
    shard->updates++;
    return true;
}

/* -------------------------------------------------------------------- kept */

void shard_keep(struct shard *shard, bool arrays)
{
    assert(shard->current[0] != NULL);
    shard_unkeep(shard, arrays);
    if (!arrays) {
        shard->kept_answer = buffer_retain(shard->answer);
        return;
    }
    for (uint32_t a = 0; a < shard->arrays; a++) {
        shard->kept_arrays[a] = buffer_retain(shard->current[a]);
    }
    shard->kept_updates = shard->updates;
}

void shard_unkeep(struct shard *shard, bool arrays)
{
    if (arrays) {
        release_arrays(shard->kept_arrays);
        return;
    }
    buffer_release(shard->kept_answer);
    shard->kept_answer = NULL;
}

/* ----------------------------------------------------------------- loading */

bool shard_begin_load(struct shard *shard)
{
    shard_discard_incoming(shard);
    return acquire_arrays(shard, shard->incoming);
}

void shard_load_initial(struct shard *shard, const struct variable_table *variables, uint64_t seed)
{
    assert(shard->incoming[0] != NULL);
    assert(shard->config.first + shard->config.count <= variables->parameter_count);
    variables_init_range(variables, seed, shard->config.first, shard->config.count,
                         shard->incoming[0]->data);
    float *arrays[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (uint32_t a = 0; a < shard->arrays; a++) { arrays[a] = shard->incoming[a]->data; }
    optimizer_begin(&shard->config.optimizer, shard->config.count, arrays);
}

bool shard_adopt(struct shard *shard, uint64_t updates)
{
    assert(shard->incoming[0] != NULL);
    struct buffer *answer = acquire_answer(shard, shard->incoming);
    if (answer == NULL) { return false; }
    fill_answer(shard, shard->incoming, answer);
    shard_forget(shard);
    shard->answer = answer;
    memcpy(shard->current, shard->incoming, sizeof shard->current);
    memset(shard->incoming, 0, sizeof shard->incoming);
    shard->updates = updates;
    return true;
}

void shard_discard_incoming(struct shard *shard)
{
    release_arrays(shard->incoming);
}

void shard_forget(struct shard *shard)
{
    release_arrays(shard->current);
    buffer_release(shard->answer);
    buffer_release(shard->previous);
    shard->answer = shard->previous = NULL;
    shard_unkeep(shard, false);
    shard_unkeep(shard, true);
}
