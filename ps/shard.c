#include "ps/shard.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "common/net/slots.h"
#include "ps/shard_private.h"

enum {
    BLOCKS_APART = 16 * 17, /* Floats between two: not the same sets of the cache. */
    LINE_BYTES = 64,
};

static size_t array_bytes(const struct shard *shard)
{
    return shard->config.count * sizeof(float);
}

size_t shard_answer_bytes(const struct shard *shard)
{
    return array_bytes(shard) * (optimizer_has_average(&shard->config.optimizer) ? 2 : 1);
}

enum tn_status shard_open(struct shard *shard, const struct shard_config *config,
                          struct error *error)
{
    assert(config->kernels != NULL);
    assert(config->pool != NULL);
    assert(config->count >= 1);
    assert(config->slices >= 1 && config->slices <= SLICES_MAX);
    assert(config->chunk_bytes >= LINE_BYTES && config->chunk_bytes % LINE_BYTES == 0);
    assert(!config->no_answers || config->kept == NULL);
    *shard = (struct shard){.config = *config, .arrays = config->optimizer.arrays};
    const size_t stride = SHARD_BLOCK + BLOCKS_APART;
    shard->sum = aligned_alloc(LINE_BYTES, (1 + shard->arrays) * stride * sizeof(float));
    if (shard->sum == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for a block of a gradient");
    }
    for (uint32_t a = 0; a < shard->arrays; a++) {
        shard->blocks[a] = shard->sum + (1 + a) * stride;
    }
    const enum tn_status status = shard_device_open(shard, error);
    if (status == TN_OK) { return TN_OK; }
    free(shard->sum);
    *shard = (struct shard){.gpu = NULL};
    return status;
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
    shard_gpu_close(shard->gpu);
    shard->gpu = NULL;
    free(shard->sum);
    shard->sum = NULL;
    memset(shard->blocks, 0, sizeof shard->blocks);
}

uint32_t shard_chunks(const struct shard *shard)
{
    return (uint32_t)((array_bytes(shard) - 1) / shard->config.chunk_bytes + 1);
}

/* ------------------------------------------------------------------ update */

uint32_t shard_line(const struct shard *shard)
{
    return slots_line(shard->config.first * sizeof(float));
}

static struct buffer *acquire(const struct shard *shard, size_t size, uint32_t line)
{
    struct kept_memory *kept = shard->config.kept;
    struct buffer *buffer = kept != NULL ? buffer_acquire_line(kept->slots, size, line) : NULL;
    return buffer != NULL ? buffer : buffer_acquire(shard->config.pool, size);
}

struct buffer *shard_acquire_array(const struct shard *shard, uint32_t array)
{
    assert(array < shard->arrays);
    return acquire(shard, array_bytes(shard), array == 0 ? shard_line(shard) : BUFFER_ANY_LINE);
}

static bool acquire_arrays(const struct shard *shard, struct buffer *out[OPTIMIZER_ARRAYS_MAX])
{
    assert(shard->arrays >= 1 && shard->arrays <= OPTIMIZER_ARRAYS_MAX);
    memset(out, 0, OPTIMIZER_ARRAYS_MAX * sizeof out[0]);
    for (uint32_t a = 0; a < shard->arrays; a++) {
        out[a] = shard_acquire_array(shard, a);
        if (out[a] == NULL) {
            release_arrays(out);
            return false;
        }
    }
    return true;
}

/* The arrays that an update writes. False: out of memory; none are acquired. */
static bool acquire_next(struct shard *shard, struct buffer *out[OPTIMIZER_ARRAYS_MAX])
{
    memset(out, 0, OPTIMIZER_ARRAYS_MAX * sizeof out[0]);
    /* The state of a GPU has no others. */
    const uint32_t arrays = shard->gpu != NULL ? 1 : shard->arrays;
    for (uint32_t a = 0; a < arrays; a++) {
        const bool may_change = a > 0 || shard->config.no_answers;
        const bool in_place = may_change && buffer_is_exclusive(shard->current[a]);
        if (a == 0) { out[a] = shard_take_place(shard); }
        if (out[a] == NULL) {
            out[a] = in_place ? buffer_retain(shard->current[a]) : shard_acquire_array(shard, a);
        }
        if (out[a] == NULL) {
            release_arrays(out);
            return false;
        }
    }
    return true;
}

/* The body of answers with the values in `arrays`: these themselves, unless there is an average to
 * be sent with them. NULL: out of memory. */
static struct buffer *acquire_answer(const struct shard *shard,
                                     struct buffer *const arrays[static OPTIMIZER_ARRAYS_MAX])
{
    if (!optimizer_has_average(&shard->config.optimizer)) { return buffer_retain(arrays[0]); }
    return acquire(shard, shard_answer_bytes(shard), shard_line(shard));
}

bool shard_begin_update(struct shard *shard)
{
    assert(shard->current[0] != NULL);
    if (shard->next.arrays[0] != NULL) { return true; }
    /* First, so that its memory is used again. */
    (void)shard_release_previous(shard);
    shard_release_former(shard);
    shard_device_drop_state(shard);
    if (!acquire_next(shard, shard->next.arrays)) { return false; }
    shard->next.done = 0;
    if (shard->config.no_answers) { return true; }
    shard->next.answer = acquire_answer(shard, shard->next.arrays);
    if (shard->next.answer != NULL) { return true; }
    release_arrays(shard->next.arrays);
    return false;
}

void shard_in_place(const struct shard *shard, float *arrays[static OPTIMIZER_ARRAYS_MAX])
{
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        const struct buffer *array = shard->current[a];
        arrays[a] = array != NULL && shard->next.arrays[a] == array ? array->data : NULL;
    }
}

/* The block before the `done` last floats, which is in one chunk. Returns its offset. */
static uint64_t block_before(const struct shard *shard, uint64_t done, uint32_t *count)
{
    const uint64_t chunk = shard->config.chunk_bytes / sizeof(float);
    const uint64_t most = shard->config.kept != NULL ? (uint64_t)KEPT_BLOCK_FLOATS : SHARD_BLOCK;
    assert(done < shard->config.count);
    const uint64_t end = shard->config.count - done;
    const uint64_t first = u64_max((end - 1) / chunk * chunk, (end - 1) / most * most);
    *count = (uint32_t)(end - first);
    return first;
}

static bool apply_on_gpu(struct shard *shard, const struct slice_sum *sums, uint32_t sum_count,
                         uint32_t root, uint64_t until)
{
    const uint64_t done = shard->next.done, begin = shard->config.count - until;
    if (until <= done) { return true; }
    if (!shard_device_apply(shard, sums, sum_count, root, begin, until - done)) { return false; }
    shard->next.done = until;
    return true;
}

/* Update the last `until` floats, as far as they are not done. False: shard->failure. */
static bool apply_blocks(struct shard *shard, const struct slice_sum *sums, uint32_t sum_count,
                         uint32_t root, uint64_t until)
{
    struct kept_memory *kept = shard->config.kept;
    struct shard_update *next = &shard->next;
    struct block_gradient gradient;
    float *changed[OPTIMIZER_ARRAYS_MAX];
    static_assert((int)KEPT_BLOCK_FLOATS <= (int)SHARD_BLOCK, "the sum of a block fits");
    shard_in_place(shard, changed);
    uint32_t count;
    if (shard->gpu != NULL) { return apply_on_gpu(shard, sums, sum_count, root, until); }
    for (; next->done < until; next->done += count) {
        const uint64_t offset = block_before(shard, next->done, &count);
        shard_pushed_gradient(shard, sums, sum_count, root, offset, &gradient);
        shard_update_block(shard, &gradient, offset, count, next->arrays, next->answer);
        if (kept != NULL) { kept_memory_note_block(kept, next->done, count); }
        FAILPOINT("ps.mid_apply");
        if (kept != NULL) { kept_memory_copy_block(kept, changed); }
    }
    return true;
}

/* The next arrays become the current ones. */
static void end_update(struct shard *shard)
{
    struct shard_update *next = &shard->next;
    assert(shard->previous == NULL);
    shard->previous = shard->answer;
    shard->answer = next->answer;
    release_arrays(shard->current);
    memcpy(shard->current, next->arrays, sizeof next->arrays);
    *next = (struct shard_update){.answer = NULL};
    shard->updates++;
}

bool shard_apply(struct shard *shard, const struct slice_node *parts, uint32_t part_count)
{
    struct slice_node whole;
    struct slice_sum sums[SLICES_MAX];
    if (!shard_begin_update(shard)) { return false; }
    uint32_t sum_count = shard_plan_sums(shard, parts, NULL, part_count, &whole, sums);
    if (!apply_blocks(shard, sums, sum_count, whole.first, shard->config.count)) { return false; }
    for (uint32_t i = 0; i < part_count; i++) { shard_release(shard, parts[i].first); }
    end_update(shard);
    return true;
}

bool shard_apply_chunks(struct shard *shard, const struct slice_node *parts,
                        const struct pushed_gradient *const *sums, uint32_t part_count,
                        uint32_t chunks)
{
    struct slice_node whole;
    struct slice_sum plan[SLICES_MAX];
    const uint64_t chunk = shard->config.chunk_bytes / sizeof(float);
    assert(chunks >= 1 && chunks < shard_chunks(shard));
    if (!shard_begin_update(shard)) { return false; }
    const uint32_t count = shard_plan_sums(shard, parts, sums, part_count, &whole, plan);
    const uint64_t left = (shard_chunks(shard) - chunks) * chunk;
    return apply_blocks(shard, plan, count, whole.first, shard->config.count - left);
}

bool shard_apply_gradient(struct shard *shard, const struct shard_gradient *parts,
                          uint32_t part_count)
{
    struct block_gradient gradient = {.term_count = 0};
    uint64_t end = 0;
    uint32_t count;
    assert(shard->config.kept == NULL && shard->gpu == NULL);
    if (!shard_begin_update(shard)) { return false; }
    for (uint32_t i = 0; i < part_count; i++) {
        assert(parts[i].first == end);
        end += parts[i].count;
        for (uint64_t at = 0; at < parts[i].count; at += count) {
            count = (uint32_t)u64_min(parts[i].count - at, SHARD_BLOCK);
            gradient.values = parts[i].values + at;
            shard_update_block(shard, &gradient, parts[i].first + at, count, shard->next.arrays,
                               shard->next.answer);
        }
    }
    assert(end == shard->config.count);
    end_update(shard);
    buffer_release(shard->previous);
    shard->previous = NULL;
    return true;
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
    const bool answers = !shard->config.no_answers;
    struct buffer *answer = answers ? acquire_answer(shard, shard->incoming) : NULL;
    if (answers && answer == NULL) { return false; }
    if (answers && answer != shard->incoming[0]) {
        shard_fill_answer(shard, shard->incoming[0]->data, shard->incoming[shard->arrays - 1]->data,
                          answer, 0, shard->config.count);
    }
    if (shard->gpu != NULL && !shard_device_load(shard)) {
        buffer_release(answer);
        return false;
    }
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
    release_arrays(shard->next.arrays);
    buffer_release(shard->next.answer);
    shard->next.answer = NULL;
    buffer_release(shard->answer);
    buffer_release(shard->previous);
    buffer_release(shard->place);
    shard->answer = shard->previous = shard->place = NULL;
    shard_release_former(shard);
    shard_unkeep(shard, false);
    shard_unkeep(shard, true);
}
