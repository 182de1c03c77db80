/*
 * data/shuffle.h: the example at each position of each batch, as a pure function of (seed, step,
 * position). A crash cannot lose a cursor, and memory holds no order.
 *
 * Global position n = step * batch + position; epoch = n / examples; the example is
 * order(seed, epoch)(n % examples). So each epoch contains each example exactly once.
 *
 * A permutation is a Feistel network over the smallest number of bits that covers [0, count), with
 * cycle walking: a value outside of the range is enciphered again until it is inside. Black,
 * Rogaway: "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. Used for mixing, not for secrets.
 *
 * Orders (data.shuffle): "permutation" is one permutation of all examples. "none" is the order of
 * the data. Blocks of consecutive examples are permuted, then the examples within each window of
 * that many permuted blocks, so that a slow disk reads whole blocks; the last window also has the
 * blocks that fill no window, and the examples that fill no block.
 *
 * Pure. Threads: any.
 */
#ifndef DATA_SHUFFLE_H
#define DATA_SHUFFLE_H

#include <stdint.h>

#include "common/job/job.h"

enum { SHUFFLE_ROUNDS = 6 };
#define SHUFFLE_MAX (UINT64_C(1) << 48) /* Examples. */

/* A permutation of [0, count). */
struct shuffle {
    uint64_t count;
    uint32_t low_bits, high_bits;
    uint64_t keys[SHUFFLE_ROUNDS];
};

/* The permutation of `epoch`; count is 1 to SHUFFLE_MAX. */
void shuffle_init(struct shuffle *shuffle, uint64_t seed, uint64_t epoch, uint64_t count);

/* The image of `position` (below count). Enciphers at most twice on average. */
uint64_t shuffle_at(const struct shuffle *shuffle, uint64_t position);

struct shuffle_order {
    uint64_t seed;
    uint64_t examples;
    struct job_shuffle kind;
};

/* Write the examples at positions [first, first+count) of step `step`, with batches of `batch`, to
 * indices[0..count). A batch may extend over the end of an epoch, and may be larger than an epoch.
 */
void shuffle_batch(const struct shuffle_order *order, uint32_t batch, uint64_t step, uint32_t first,
                   uint32_t count, uint64_t *indices);

#endif
