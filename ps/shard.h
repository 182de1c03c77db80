/*
 * ps/shard.h: the part of the parameters that one ps owns: values and optimizer state, the pushed
 * sums that wait to be applied, and the update.
 *
 * Arrays live in buffers of the node's pool. An update reads the current ones and writes fresh
 * ones, so values that are being sent and arrays that are being saved never change: whoever keeps a
 * reference on them has a whole step. The values of the step before are kept, too.
 *
 * Bits: whatever nodes of the slices' tree were pushed, they are added in the tree's order, block
 * by block.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_SHARD_H
#define PS_SHARD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/cluster/slices.h"
#include "common/cluster/variables.h"
#include "kernels/kernels.h"
#include "kernels/optimizer.h"

struct shard_config {
    const struct kernels *kernels; /* Outlives the shard. */
    struct optimizer optimizer;
    struct buffer_pool *pool; /* Outlives the shard. */
    uint64_t first, count;    /* Of the flat vector, in floats. */
    uint32_t slices;          /* V */
};

struct shard {
    struct shard_config config;
    uint32_t arrays;  /* Values and optimizer state. */
    uint64_t updates; /* Applied since the beginning of training: Adam's t. */
    /* References of the shard; NULL while there are none. Array 0 is the values. */
    struct buffer *current[OPTIMIZER_ARRAYS_MAX];
    struct buffer *previous; /* Values before the last update. */
    struct buffer *incoming[OPTIMIZER_ARRAYS_MAX];
    struct buffer *slots[SLICES_MAX]; /* Pushed sums, by first slice. */
    float *scratch;                   /* Block sums, by first slice. */
    uint32_t block;                   /* Floats. */
};

/* A shard without arrays. TN_ENOMEM: `shard` needs no closing. */
MUST_CHECK enum tn_status shard_open(struct shard *shard, const struct shard_config *config,
                                     struct error *error);
/* Releases all references. A shard of zeros is allowed. */
void shard_close(struct shard *shard);

/* Take over one reference of `sum`: config.count floats, the sum of a node of the tree that starts
 * at slice `first`. What is in the slot is released. */
void shard_hold(struct shard *shard, uint32_t first, struct buffer *sum);
void shard_release(struct shard *shard, uint32_t first);
void shard_release_all(struct shard *shard);

/* One update by the sum of `parts`: disjoint nodes that together are a node of the tree, held in
 * their slots, which are released. False: no memory; nothing has changed. */
bool shard_apply(struct shard *shard, const struct slice_node *parts, uint32_t part_count);

/* Get fresh `incoming` arrays, contents undefined. False: no memory; there are none. */
bool shard_begin_load(struct shard *shard);
/* Fill them with the initial values, and zeros. */
void shard_load_initial(struct shard *shard, const struct variable_table *variables, uint64_t seed);
/* They become the current ones, after `updates` updates; there is no previous step. */
void shard_adopt(struct shard *shard, uint64_t updates);
void shard_discard_incoming(struct shard *shard);
/* Release current and previous arrays. */
void shard_forget(struct shard *shard);

#endif
