/*
 * data/shuffle.h: the example at each position of each batch, as a pure function of (seed, step,
 * position). There is no cursor that a crash could lose, and no order in memory.
 *
 * Global position n = step * batch + position; epoch = n / examples; the example is
 * permutation(seed, epoch)(n % examples). So each epoch contains each example exactly once.
 *
 * The permutation is a Feistel network over the smallest number of bits that covers [0, examples),
 * with cycle walking: a value outside of the range is enciphered again until it is inside. Black,
 * Rogaway: "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. Used for mixing, not for secrets.
 *
 * Pure. Threads: any.
 */
#ifndef DATA_SHUFFLE_H
#define DATA_SHUFFLE_H

#include <stdint.h>

enum { SHUFFLE_ROUNDS = 6 };

/* A permutation of [0, count). */
struct shuffle {
    uint32_t count;
    uint32_t low_bits, high_bits;
    uint64_t keys[SHUFFLE_ROUNDS];
};

/* The permutation of `epoch`; count >= 1. */
void shuffle_init(struct shuffle *shuffle, uint64_t seed, uint64_t epoch, uint32_t count);

/* The image of `position` (below count). Enciphers at most twice on average. */
uint32_t shuffle_at(const struct shuffle *shuffle, uint32_t position);

/* Write the examples at positions [first, first+count) of step `step`, with batches of `batch`, to
 * indices[0..count). A batch may extend over the end of an epoch, and may be larger than an epoch.
 */
void shuffle_batch(uint64_t seed, uint32_t examples, uint32_t batch, uint64_t step, uint32_t first,
                   uint32_t count, uint32_t *indices);

#endif
