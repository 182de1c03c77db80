/*
 * ps/shard.h: the part of the parameters that one ps owns: values and optimizer state, the pushed
 * sums that wait to be applied, and the update.
 *
 * The arrays are in buffers of the node's pool. An update writes the values to a fresh buffer, so
 * values that are being sent never change: a reference on them is a reference on one complete step.
 * The optimizer state is updated in place, or in a fresh copy while something else, such as a save,
 * has a reference on it. The answers of the previous step are kept, too. Without answers, as in a
 * run without ps, the values are updated as the state is.
 *
 * With kept memory the arrays are in its slots, and an update can be continued by another process:
 * values and answers are complete until the update is, and the state is changed block by block,
 * each of which can be undone (ps/kept_memory.h).
 *
 * On a GPU (ps/shard_gpu.h) the state is in its memory alone, and the values in both. Then there is
 * no kept memory, and the functions that return false may have failed because of the GPU.
 *
 * One pass over the shard does all of this: a block that fits the cache is summed, updated and
 * published before the next one is read.
 *
 * Bits: whichever nodes of the slice tree were pushed, their sums are added in the order of the
 * tree, element by element, so the result does not depend on the grouping.
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
#include "kernels/measurement.h"
#include "kernels/optimizer.h"
#include "ps/kept_memory.h"
#include "ps/pushed_gradient.h"
#include "ps/shard_gpu.h"

struct shard_config {
    const struct kernels *kernels; /* Outlives the shard. */
    struct optimizer optimizer;    /* Its variables outlive the shard. */
    struct buffer_pool *pool;      /* Outlives the shard. */
    struct kept_memory *kept;      /* Has the arrays, as far as they fit; NULL. Outlives it. */
    bool no_answers;               /* There are none; without kept memory. */
    uint64_t first, count;         /* Range of the flat vector, in floats. */
    uint32_t slices;               /* V */
    uint32_t chunk_bytes;          /* Chunks of pushed sums; a multiple of 64. */
    struct shard_gpu_place gpu;    /* Without kept memory, and with answers. */
};

/* An update between its begin and its end. */
struct shard_update {
    struct buffer *arrays[OPTIMIZER_ARRAYS_MAX]; /* The next ones; NULL: no update has begun. */
    struct buffer *answer;
    uint64_t done; /* Floats, from the last one on. */
};

struct shard {
    struct shard_config config;
    struct shard_gpu *gpu; /* NULL: on the CPU. */
    struct error failure;  /* The GPU's, if a function returned false; TN_OK: out of memory. */
    uint32_t arrays;       /* Number of arrays: the values and the optimizer state. */
    uint64_t updates;      /* Applied since the beginning of training (Adam's t). */
    /* One reference each, or NULL. Array 0 is the values. */
    struct buffer *current[OPTIMIZER_ARRAYS_MAX];
    /* The bodies of answers, with the values, followed by their average if there is one: of the
     * current step, of the previous step, and of an earlier step that is to be evaluated. */
    struct buffer *answer, *previous, *kept_answer;
    /* All arrays of an earlier step, to be saved. */
    struct buffer *kept_arrays[OPTIMIZER_ARRAYS_MAX];
    uint64_t kept_updates; /* The updates in them. */
    struct buffer *incoming[OPTIMIZER_ARRAYS_MAX];
    /* The memory of the next values, if a push of the present step was begun there; or NULL. */
    struct buffer *place;
    /* The previous values, if they were retired: a push waits for their memory. Or NULL. */
    struct buffer *former;
    struct shard_update next;
    struct pushed_gradient *slots[SLICES_MAX]; /* Pushed sums, by first slice. Owned. */
    /* The pushed sums that are being added up. */
    const struct pushed_gradient *sources[SLICES_MAX];
    /* One block of the gradient, and of each new array that is streamed (shard.c). */
    float *sum, *blocks[OPTIMIZER_ARRAYS_MAX];
};

/* Open a shard without arrays. TN_ENOMEM; TN_EDEVICE: the GPU failed, or has too little memory.
 * Then `shard` needs no closing. */
MUST_CHECK enum tn_status shard_open(struct shard *shard, const struct shard_config *config,
                                     struct error *error);
/* Releases all references. A zeroed shard is allowed. */
void shard_close(struct shard *shard);

/* The size of the body of an answer. */
size_t shard_answer_bytes(const struct shard *shard);
/* The line of a page at which values and answers begin in the slots of kept memory: they begin
 * there in the arrays of the workers, too (T10). */
uint32_t shard_line(const struct shard *shard);
/* The number of chunks of a pushed sum. */
uint32_t shard_chunks(const struct shard *shard);

/* Put `sum` into slot `first` and release what the slot held: config.count floats, the sum of a
 * node of the tree that starts at slice `first`. Takes ownership. */
void shard_hold(struct shard *shard, uint32_t first, struct pushed_gradient *sum);
void shard_release(struct shard *shard, uint32_t first);

/* Release the previous answer. Returns false if there was none. */
bool shard_release_previous(struct shard *shard);
/* Release the previous answer for a push: shard_begin_push() then takes only the memory of this
 * answer, once nothing else has a reference to it. Returns false if there was no previous answer.
 * If the answer is kept, it is released. */
bool shard_retire_previous(struct shard *shard);
/* Room for a push of the present step, which shard_hold() may get, where the update will write the
 * values: the previous answer, whose memory that is, was released or retired. NULL: another push
 * has it, a retired answer is still used, an update has begun, or out of memory. */
struct pushed_gradient *shard_begin_push(struct shard *shard);
/* Release all pushed sums. */
void shard_release_all(struct shard *shard);

/* Measure the current values and the gradient that `parts`, as in shard_apply(), sum up to: this
 * shard's part of the norms that the next update needs. False: out of memory, or the GPU failed. */
MUST_CHECK bool shard_measure(struct shard *shard, const struct slice_node *parts,
                              uint32_t part_count, struct measurement *out);

/* Begin an update, unless one has begun: acquire what it needs, and release the answer of the step
 * before. False: out of memory; only that answer is lost. */
bool shard_begin_update(struct shard *shard);

/* Apply one update, which may have begun, by the sum of `parts`: disjoint nodes that together are
 * one node of the tree, in their slots, which are released. False: out of memory, or the GPU
 * failed. */
bool shard_apply(struct shard *shard, const struct slice_node *parts, uint32_t part_count);
/* As shard_apply(), for no more than the last `chunks` chunks of the shard: then the update stays
 * begun. The sum of `parts[i]` is `sums[i]` or, if that is NULL, in its slot; it has these chunks.
 * No slot is released. */
bool shard_apply_chunks(struct shard *shard, const struct slice_node *parts,
                        const struct pushed_gradient *const *sums, uint32_t part_count,
                        uint32_t chunks);
/* Whether the next chunk of a push that shard_begin_push() has placed is late: the update has
 * written values there. */
bool shard_is_updated(const struct shard *shard, const struct pushed_gradient *sum);

/* Floats [first, first + count) of the shard's gradient. */
struct shard_gradient {
    uint64_t first, count;
    const float *values;
};

/* shard_measure() and shard_apply() of a gradient that was added up elsewhere: `parts` are the
 * whole gradient, in order, and begin at multiples of 16. The previous answer is not kept. */
void shard_measure_gradient(struct shard *shard, const struct shard_gradient *parts,
                            uint32_t part_count, struct measurement *out);
/* Only without kept memory and on the CPU. False: out of memory; nothing is applied. */
MUST_CHECK bool shard_apply_gradient(struct shard *shard, const struct shard_gradient *parts,
                                     uint32_t part_count);

/* On a GPU: copy the state to the host, which has all current arrays until the next update begins.
 * False: out of memory, then none of it is copied; or the GPU failed (`failure`). */
MUST_CHECK bool shard_copy_state(struct shard *shard);
/* Keep the current answer, or with `arrays` all current arrays, in place of those kept before.
 * False: out of memory, or the GPU failed; then no arrays are kept. */
MUST_CHECK bool shard_keep(struct shard *shard, bool arrays);
/* Release what shard_keep() has kept: the answer, or with `arrays` the arrays. */
void shard_unkeep(struct shard *shard, bool arrays);

/* The arrays that the begun update changes in place; NULL: it does not change this one in place. */
void shard_in_place(const struct shard *shard, float *arrays[static OPTIMIZER_ARRAYS_MAX]);
/* Fill in the positions in the kept memory: the fields of `record` that name slots, and the counts
 * of updates. False: a part of the shard is not in the kept memory, or was not in it when an update
 * began that has changed blocks since. */
bool shard_describe(const struct shard *shard, struct kept_record *record);
/* Take over the state of a former process from the valid record of the memory, and
 * complete the block that the process was changing. The shard must be empty. */
void shard_recover(struct shard *shard, const struct kept_record *record);

/* For the other files of the shard. Memory for an array. NULL: out of memory. */
struct buffer *shard_acquire_array(const struct shard *shard, uint32_t array);
/* The place of a push, for the values that replace it. NULL: there is none. If the push is still
 * being collected, see shard_is_updated(); when the update has ended, pushed_gradient_end(). */
struct buffer *shard_take_place(struct shard *shard);
/* No push waits for the memory of a retired answer from now on. */
void shard_release_former(struct shard *shard);

/* Acquire `incoming` arrays with undefined contents. False: out of memory; none are acquired. */
bool shard_begin_load(struct shard *shard);
/* Fill the incoming arrays: initial values, and zeros as the state. */
void shard_load_initial(struct shard *shard, const struct variable_table *variables, uint64_t seed);
/* The incoming arrays become the current ones, of `updates` updates. The shard then has no previous
 * answer. False: out of memory, or the GPU failed. */
bool shard_adopt(struct shard *shard, uint64_t updates);
/* Release the incoming arrays, which were not adopted. */
void shard_discard_incoming(struct shard *shard);
/* Release the current arrays, the answers and all that is kept. */
void shard_forget(struct shard *shard);

#endif
