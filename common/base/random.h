/*
 * common/base/random.h: random numbers as pure functions. No state is kept outside what the caller
 * passes, so any node can recompute any value from (seed, stream, index). Generator:
 * SplitMix64 (Steele, Lea, Flood 2014).
 */
#ifndef COMMON_BASE_RANDOM_H
#define COMMON_BASE_RANDOM_H

#include <stdint.h>

/* The `index`-th 64 random bits of stream `stream` of `seed`. */
uint64_t random_at(uint64_t seed, uint64_t stream, uint64_t index);

/* Uniform in [0, 1), 24 random bits: exact in a float. */
float random_unit_at(uint64_t seed, uint64_t stream, uint64_t index);

/* Nearly normal, mean 0 and deviation 1: a sum of eight uniform 16-bit numbers, within 4.9
 * deviations. Integer arithmetic up to one product, so its bits do not depend on libm. Uses random
 * bits 2 index and 2 index + 1 of the stream. */
float random_normal_at(uint64_t seed, uint64_t stream, uint64_t index);

/* A sequential generator, for tests, back-off and identifiers. */
struct random {
    uint64_t state;
};
uint64_t random_next(struct random *random);
/* Uniform in [0, limit); limit > 0. Bias below 2^-32 for limit < 2^32. */
uint64_t random_below(struct random *random, uint64_t limit);

#endif
