/* The update of a block: the sum of its gradients, the optimizer, and the stores to memory. */
#include <assert.h>
#include <string.h>

#include "kernels/overlap.h"
#include "ps/shard_private.h"

enum {
    /* Fresh arrays of this size and more are written with stores that bypass the caches, where they
     * would displace each other, and which need not read what they overwrite: the values, and the
     * state while a save has the old one. */
    STREAM_BYTES = 4 * 1024 * 1024,
};

/* Where a block is read and written. */
struct block_arrays {
    const float *in[OPTIMIZER_ARRAYS_MAX];
    float *out[OPTIMIZER_ARRAYS_MAX];
    bool streams[OPTIMIZER_ARRAYS_MAX]; /* `out` is written past the caches. */
    bool overlaps; /* The values are written where they, or the gradient, are read. */
};

void shard_fill_answer(const struct shard *shard, const float *values, const float *average,
                       const struct buffer *answer, uint64_t offset, uint64_t count)
{
    assert(shard->arrays >= 2);
    assert(offset + count <= shard->config.count);
    float *out = (float *)answer->data + offset;
    memcpy(out, values, count * sizeof *out);
    memcpy(out + shard->config.count, average, count * sizeof *out);
}

/* Arrays are the same, or have nothing in common: the kernels rely on it. */
static void check_arrays(const struct shard *shard, const struct block_gradient *gradient,
                         const struct block_arrays *arrays, uint32_t count)
{
    for (uint32_t a = 0; a < shard->arrays; a++) {
        const float *out = arrays->out[a], *values = gradient->values;
        assert(out == arrays->in[a] || are_disjoint(out, count, arrays->in[a], count));
        assert(gradient->term_count > 0 || (a == 0 && out == values) ||
               are_disjoint(out, count, values, count));
    }
}

static struct block_arrays arrays_of(const struct shard *shard,
                                     const struct block_gradient *gradient, uint64_t offset,
                                     uint32_t count,
                                     struct buffer *const fresh[OPTIMIZER_ARRAYS_MAX], bool fills)
{
    struct kept_memory *kept = shard->config.kept;
    const bool is_large = shard->config.count * sizeof(float) >= STREAM_BYTES;
    struct block_arrays arrays = {.in = {NULL}};
    for (uint32_t a = 0; a < shard->arrays; a++) {
        assert(shard->current[a] != NULL);
        assert(fresh[a] != NULL);
        const bool in_place = fresh[a] == shard->current[a];
        arrays.in[a] = (const float *)shard->current[a]->data + offset;
        arrays.out[a] = (float *)fresh[a]->data + offset;
        arrays.streams[a] = is_large && !fills && !in_place;
        if (in_place && a > 0 && kept != NULL) { arrays.out[a] = kept_memory_block(kept, a); }
    }
    check_arrays(shard, gradient, &arrays, count);
    arrays.overlaps = arrays.out[0] == arrays.in[0] ||
                      (gradient->term_count == 0 && arrays.out[0] == gradient->values);
    return arrays;
}

/* The kernel that updates all arrays of the part in one pass; NULL: none. */
static optimizer_fused_kernel *kernel_of(const struct shard *shard,
                                         const struct optimizer_part *part,
                                         const struct block_arrays *arrays)
{
    const bool updates_all = !part->averaged && part->arrays == shard->arrays;
    if (!updates_all || arrays->overlaps) { return NULL; }
    return shard->config.kernels->optimizers->update_fused[part->kind];
}

static void update_fused(const struct shard *shard, const struct optimizer_part *part,
                         const struct block_gradient *gradient, const struct block_arrays *arrays,
                         uint32_t at, optimizer_fused_kernel *kernel)
{
    struct fused_update update = {.count = part->count,
                                  .constants = &part->constants,
                                  .at = at,
                                  .gradient = gradient->values,
                                  .term_count = gradient->term_count,
                                  .terms = gradient->terms};
    for (uint32_t a = 0; a < shard->arrays; a++) {
        update.in[a] = arrays->in[a] + at;
        update.out[a] = arrays->out[a] + at;
        update.streams[a] = arrays->streams[a];
    }
    kernel(&update);
}

/* The whole sum first; stores that are streamed, or overlap, last. */
static void update_in_turns(const struct shard *shard, const struct optimizer_part *part,
                            const struct block_gradient *gradient,
                            const struct block_arrays *arrays, uint32_t at)
{
    const struct kernels *kernels = shard->config.kernels;
    const uint32_t count = (uint32_t)part->count;
    const float *in[OPTIMIZER_ARRAYS_MAX] = {NULL};
    float *out[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (uint32_t a = 0; a < shard->arrays; a++) {
        const bool moves = arrays->streams[a] || (a == 0 && arrays->overlaps);
        in[a] = arrays->in[a] + at;
        out[a] = moves ? shard->blocks[a] : arrays->out[a] + at;
    }
    optimizer_apply_part(&shard->config.optimizer, kernels, part,
                         shard_gradient_at(shard, gradient, at, count), in, out);
    for (uint32_t a = 0; a < shard->arrays; a++) {
        assert(arrays->out[a] != NULL);
        if (arrays->streams[a]) {
            kernels->stream(count, out[a], arrays->out[a] + at);
        } else if (out[a] == shard->blocks[a]) {
            memcpy(arrays->out[a] + at, out[a], count * sizeof(float));
        }
    }
}

void shard_update_block(struct shard *shard, const struct block_gradient *gradient, uint64_t offset,
                        uint32_t count, struct buffer *const fresh[OPTIMIZER_ARRAYS_MAX],
                        const struct buffer *answer)
{
    assert(offset + count <= shard->config.count && count <= SHARD_BLOCK);
    const struct optimizer *optimizer = &shard->config.optimizer;
    const bool fills = answer != NULL && answer != fresh[0];
    assert(shard->arrays >= 1 && shard->arrays <= OPTIMIZER_ARRAYS_MAX);
    const uint64_t first = shard->config.first + offset;
    const struct block_arrays arrays = arrays_of(shard, gradient, offset, count, fresh, fills);
    for (uint32_t at = 0; at < count;) {
        const struct optimizer_part part =
            optimizer_part_at(optimizer, shard->updates, first + at, first + count);
        optimizer_fused_kernel *kernel = kernel_of(shard, &part, &arrays);
        if (kernel != NULL) {
            update_fused(shard, &part, gradient, &arrays, at, kernel);
        } else {
            update_in_turns(shard, &part, gradient, &arrays, at);
        }
        at += (uint32_t)part.count;
    }
    shard->config.kernels->stream_fence();
    if (fills) {
        shard_fill_answer(shard, arrays.out[0], arrays.out[shard->arrays - 1], answer, offset,
                          count);
    }
}
