/* ps/shard_private.h: shared by the files of the shard; no other file includes it. */
#ifndef PS_SHARD_PRIVATE_H
#define PS_SHARD_PRIVATE_H

#include "ps/shard.h"

enum { SHARD_BLOCK = 8192 /* Floats; a multiple of 16. */ };

/* ------------------------------------------------------------- shard_sums.c */

/* Plan the additions of `parts`: to `sums`, of which it returns the number; none: the sum is in the
 * slot of `whole`. `pushed`: see shard_apply_chunks(); NULL: all are in their slots. */
uint32_t shard_plan_sums(struct shard *shard, const struct slice_node *parts,
                         const struct pushed_gradient *const *pushed, uint32_t part_count,
                         struct slice_node *whole, struct slice_sum sums[static SLICES_MAX]);
/* The floats from `offset` on of the sum in a slot, as far as its chunk reaches. */
const float *shard_pushed_at(const struct shard *shard, uint32_t slot, uint64_t offset);
/* The length of the block at `offset`, which is in one chunk. */
uint32_t shard_block_at(const struct shard *shard, uint64_t offset);
/* The gradient of a block in one chunk: an array, or a sum of arrays. */
struct block_gradient {
    const float *values; /* If `term_count` is 0. */
    uint32_t term_count;
    struct sum_term terms[SLICES_MAX];
};

/* The gradient of the block at `offset`. The pushed buffers are only read, because a peer in the
 * same process may have references on them, too. */
void shard_pushed_gradient(const struct shard *shard, const struct slice_sum *sums,
                           uint32_t sum_count, uint32_t root, uint64_t offset,
                           struct block_gradient *out);
/* `count` floats of a gradient from float `at` of its block on, valid until the next call. */
const float *shard_gradient_at(const struct shard *shard, const struct block_gradient *gradient,
                               uint32_t at, uint32_t count);

/* ------------------------------------------------------------ shard_block.c */

/* Update `count` floats at `offset`, at most SHARD_BLOCK, to the arrays `fresh` and to `answer`,
 * which may be NULL. State in place is written to the blocks of kept memory, if there is one. */
void shard_update_block(struct shard *shard, const struct block_gradient *gradient, uint64_t offset,
                        uint32_t count, struct buffer *const fresh[OPTIMIZER_ARRAYS_MAX],
                        const struct buffer *answer);
/* Copy `count` floats of the values and their average to `offset` of an answer with both. */
void shard_fill_answer(const struct shard *shard, const float *values, const float *average,
                       const struct buffer *answer, uint64_t offset, uint64_t count);

/* --------------------------------------------------------------- shard_device.c: on a GPU */

/* Open the memory of the GPU, if the shard is on one. TN_EDEVICE, TN_ENOMEM. */
MUST_CHECK enum tn_status shard_device_open(struct shard *shard, struct error *error);
/* Copy the incoming arrays to the GPU, and release all but the values. False: shard->failure. */
bool shard_device_load(struct shard *shard);
/* Update floats [offset, offset + count). False: shard->failure. */
bool shard_device_apply(struct shard *shard, const struct slice_sum *sums, uint32_t sum_count,
                        uint32_t root, uint64_t offset, uint64_t count);
/* Release the copies of the state, which an update makes those of an earlier step. */
void shard_device_drop_state(struct shard *shard);

#endif
